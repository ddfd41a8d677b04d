// SPDX-License-Identifier: Apache-2.0
// Evaluates a prompt in one batch, or tokens one after the other, as llama.cpp's own llama-bench does, and
// nothing else. Usage: llama_driver MODEL THREADS PROMPT_TOKENS GENERATED_TOKENS
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "llama.h"

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    const int threads = std::atoi(argv[2]), prompt = std::atoi(argv[3]), generated = std::atoi(argv[4]);
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_backend_init();
    llama_model *model = llama_model_load_from_file(argv[1], llama_model_default_params());
    if (!model)
        return 3;
    llama_context_params parameters = llama_context_default_params();
    parameters.n_ctx = parameters.n_batch = static_cast<uint32_t>(prompt > 512 ? prompt : 512);
    parameters.n_threads = parameters.n_threads_batch = threads;
    llama_context *context = llama_init_from_model(model, parameters);
    if (!context)
        return 3;
    const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
    const auto evaluate = [&](int count) {
        std::vector<llama_token> tokens(static_cast<size_t>(count));
        for (llama_token &token : tokens)
            token = std::rand() % vocabulary;
        return llama_decode(context, llama_batch_get_one(tokens.data(), count)) == 0;
    };
    if (prompt && !evaluate(prompt))
        return 4;
    for (int n = 0; n < generated; n++)
        if (!evaluate(1))
            return 4;
    const float logit = llama_get_logits_ith(context, -1)[0];
    std::printf("%g\n", static_cast<double>(logit));
    return std::isfinite(logit) ? 0 : 5; // what is not a number would be computed at another speed
}

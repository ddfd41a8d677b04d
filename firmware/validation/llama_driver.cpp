// SPDX-License-Identifier: Apache-2.0
// Evaluates a prompt, or tokens one after the other, as llama.cpp's own llama-bench does, and nothing else.
// Usage: llama_driver MODEL THREADS PROMPT GENERATED [UBATCH [FLASH]]
//   PROMPT  how many random tokens, or a file of token numbers
//   UBATCH  tokens evaluated at once, 512 as in llama.cpp itself
//   FLASH   1 or 0: with flash attention or without; llama.cpp decides where it is not given
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "llama.h"

// The option has had two types in the versions that are built here.
template <typename Parameters>
static auto set_flash(Parameters &parameters, bool on, int) -> decltype(parameters.flash_attn, void()) {
    parameters.flash_attn = on;
}
template <typename Parameters> static void set_flash(Parameters &parameters, bool on, long) {
    parameters.flash_attn_type = static_cast<decltype(parameters.flash_attn_type)>(on);
}

// Nothing where there is no such file.
static std::vector<llama_token> read_tokens(const char *path) {
    std::ifstream file(path);
    return {std::istream_iterator<llama_token>(file), {}};
}

int main(int argc, char **argv) {
    if (argc < 5 || argc > 7)
        return 2;
    const int threads = std::atoi(argv[2]), generated = std::atoi(argv[4]);
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_backend_init();
    llama_model *model = llama_model_load_from_file(argv[1], llama_model_default_params());
    if (!model)
        return 3;
    const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
    std::vector<llama_token> prompt = read_tokens(argv[3]);
    if (prompt.empty())
        for (int n = std::atoi(argv[3]); n > 0; n--)
            prompt.push_back(std::rand() % vocabulary);
    llama_context_params parameters = llama_context_default_params();
    parameters.n_ctx = parameters.n_batch = static_cast<uint32_t>(prompt.size() > 512 ? prompt.size() : 512);
    parameters.n_threads = parameters.n_threads_batch = threads;
    if (argc > 5)
        parameters.n_ubatch = static_cast<uint32_t>(std::atoi(argv[5]));
    if (argc > 6)
        set_flash(parameters, std::atoi(argv[6]) != 0, 0);
    llama_context *context = llama_init_from_model(model, parameters);
    if (!context)
        return 3;
    const auto evaluate = [&](std::vector<llama_token> &tokens) {
        const auto count = static_cast<int>(tokens.size());
        return llama_decode(context, llama_batch_get_one(tokens.data(), count)) == 0;
    };
    if (!prompt.empty() && !evaluate(prompt))
        return 4;
    for (int n = 0; n < generated; n++) {
        std::vector<llama_token> one = {std::rand() % vocabulary};
        if (!evaluate(one))
            return 4;
    }
    const float logit = llama_get_logits_ith(context, -1)[0];
    std::printf("%g\n", static_cast<double>(logit));
    return std::isfinite(logit) ? 0 : 5; // what is not a number would be computed at another speed
}

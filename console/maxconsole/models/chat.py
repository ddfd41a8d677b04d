# SPDX-License-Identifier: Apache-2.0
"""A conversation as tokens: each turn adds to what the board has cached, and a reply is never tokenized again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maxconsole.models.chat_template import ChatTemplate, Message, Rendered, written_forms
from maxconsole.models.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model is to continue.

    prompt: all tokens of the conversation up to the reply.
    shared: how many of them, from the first, are those of the turn before with its reply. A board that still holds
    `cached` tokens of that turn keeps min(cached, shared) of them and is sent the rest.
    """

    prompt: tuple[int, ...]
    shared: int

    def new_tokens(self, keep: int) -> tuple[int, ...]:
        """What to send to a board that keeps `keep` tokens."""
        return self.prompt[keep:]


class Conversation:
    """Messages, and the tokens that they came to."""

    def __init__(self, tokenizer: Tokenizer, template: ChatTemplate, system: str | None = None) -> None:
        """system: None leaves it to the template, which may have words of its own for that; "" says nothing."""
        self._tokenizer = tokenizer
        self._template = template
        self._messages: list[Message] = [] if system is None else [Message("system", system)]
        self._tokens: tuple[int, ...] = ()  # of the last prompt with its reply, a stop token left out
        self._told = ""  # the text of the last prompt, without its reply
        self._open: tuple[Message, Rendered, tuple[int, ...]] | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._messages)

    @property
    def tokens(self) -> tuple[int, ...]:
        """The last prompt and its reply."""
        return self._tokens

    def ask(self, text: str) -> Turn:
        """The prompt for the user's next message; it joins the conversation once `answered` is told the reply.

        Asking again without an answer in between drops the first question.
        Raises UserError for a template that fails.
        """
        question = Message("user", text)
        rendered = self._template.render([*self._messages, question])
        rest = self._after_reply(rendered)
        if rest is None:
            prompt = with_bos(self._tokenizer, self._tokenizer.encode(rendered.text, rendered.template))
        else:
            prompt = (*self._tokens, *self._tokenizer.encode(rest.text, rest.template, at_start=False))
        self._open = (question, rendered, prompt)
        return Turn(prompt, _common(prompt, self._tokens))

    def answered(self, reply: Sequence[int]) -> str:
        """Records the reply's tokens (cut short or not, with or without its stop token) and returns its text."""
        if self._open is None:
            raise RuntimeError("there is no open question")
        question, rendered, prompt = self._open
        stop = self._tokenizer.vocabulary.special.stop
        kept = tuple(reply[:-1] if reply and reply[-1] in stop else reply)
        stream = self._tokenizer.stream()
        text = "".join(stream.feed(token) for token in kept) + stream.finish()
        self._messages += [question, Message("assistant", text)]
        self._tokens, self._told, self._open = (*prompt, *kept), rendered.text, None
        return text

    def _after_reply(self, rendered: Rendered) -> Rendered | None:
        """What `rendered` adds to the last prompt and its reply; None where it does not begin with them.

        Some templates write past turns otherwise than they did when they were new: all is then tokenized afresh.
        """
        if not self._tokens:
            return None
        for form in written_forms(self._messages[-1].content):
            if rendered.text.startswith(self._told + form):
                return rendered.after(len(self._told) + len(form))
        return None


def with_bos(tokenizer: Tokenizer, tokens: Sequence[int]) -> tuple[int, ...]:
    """`tokens` with the begin token in front, where the model wants one and there is none."""
    bos = tokenizer.vocabulary.special.bos
    if not tokenizer.add_bos or bos is None or tuple(tokens[:1]) == (bos,):
        return tuple(tokens)
    return (bos, *tokens)


def raw_prompt(tokenizer: Tokenizer, text: str) -> Turn:
    """Plain text for the model to continue, without a template; special tokens in it are ordinary text."""
    return Turn(with_bos(tokenizer, tokenizer.encode(text)), 0)


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the common start."""
    length = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        length += 1
    return length

"""Text for terminals and files that cannot show every character."""

from __future__ import annotations

import codecs
import errno
import io
import unicodedata
from typing import Any

_NAME = "dpcalc.transliterate"

_WORDS = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta",
    "θ": "theta", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "π": "pi", "ρ": "rho",
    "σ": "sigma", "τ": "tau", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma",
    "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Π": "product", "Σ": "sum", "Φ": "Phi",
    "Ψ": "Psi", "Ω": "Omega", "∏": "product", "∑": "sum", "∫": "integral", "√": " sqrt",
    "∞": "inf", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "∈": " in ", "∇": "grad ", "∂": "d",
    "‖": "||", "×": "x", "·": "*", "−": "-", "–": "-", "—": "-", "→": "->", "←": "<-", "…": "...",
    "•": "*", "✓": "+", "✗": "x", "±": "+-", "½": "1/2", "¼": "1/4", "°": " degrees", "“": '"',
    "”": '"', "‘": "'", "’": "'", "ᵀ": "^T", "⁻": "^-", "ℓ": "l", "∪": " or ", "∩": " and ",
    "─": "-", "━": "-", "│": "|", "└": "`", "├": "|", "█": "#", "₊": "+", "₋": "-", "∥": "||",
    "†": "^+", "⊤": "^T", "⟨": "<", "⟩": ">", "∝": " ~ ", "∘": " o ",
}  # fmt: skip


def written(text: str, encoding: str) -> str:
    """The text with what an encoding lacks written out: δ as delta, ≤ as <=, é as e."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return "".join(c if _fits(c, encoding) else _in_ascii(c) for c in text)
    return text


def printable(text: str) -> str:
    """The text without control characters, which could steer a terminal; newlines and tabs stay."""
    return "".join(c if c in "\n\t" or unicodedata.category(c) != "Cc" else "�" for c in text)


class Closed(io.TextIOBase):
    """Stands for a standard output that was closed before the start: nothing can be written."""

    def writable(self) -> bool:
        """As any output."""
        return True

    def write(self, text: str) -> int:
        """Fails, so that no answer is lost without a word."""
        raise OSError(errno.EBADF, "standard output is closed")


def make_safe(stream: Any) -> None:
    """Let a stream write out the characters that its encoding lacks instead of failing."""
    if getattr(stream, "errors", None) in ("strict", "surrogateescape", "backslashreplace"):
        codecs.register_error(_NAME, _replacement)
        stream.reconfigure(errors=_NAME)


def _replacement(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_in_ascii(c) for c in error.object[error.start : error.end]), error.end


def _fits(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _in_ascii(character: str) -> str:
    if character in _WORDS:
        return _WORDS[character]
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return plain or "?"

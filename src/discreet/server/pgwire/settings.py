"""Settings of a session, as SET, SHOW and RESET know them: `discreet.…` are terms of questions, the rest is echoed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from discreet.declared.table import MOST_GROUPS_A_UNIT, MOST_ROWS_A_UNIT
from discreet.errors import Refusal
from discreet.exact import positive, probability, share
from discreet.server.errors import BAD_VALUE, WireError
from discreet.server.pgwire.lexer import Word, matching, words

OURS = "discreet."
VERSION = "16.0"  # the Postgres whose protocol and catalogue are spoken
MOST_OWN, LONGEST = 64, 2_000  # settings of a client's own, and characters of a value


def _any(_: str, text: str) -> str:
    return text


def _one_of(*allowed: str) -> Callable[[str, str], str]:
    """Takes these words only, in any case; what is kept is the first that begins so."""

    def check(name: str, text: str) -> str:
        for word in allowed:
            if re.sub(r"[^a-z0-9]", "", text.lower()) == word.lower():  # 'utf-8' with its quotes is UTF8 too
                return allowed[0]
        raise WireError(BAD_VALUE, f"{name} is {allowed[0]} here", hint=f"leave {name} as it is")

    return check


def _iso(name: str, text: str) -> str:
    words = [word.strip().upper() for word in text.split(",")]
    if not set(words) <= {"ISO", "MDY", "DMY", "YMD"}:
        raise WireError(BAD_VALUE, f"{name} is ISO here", hint=f"leave {name} as it is")
    orders = [word for word in words if word != "ISO"]
    return f"ISO, {orders[-1] if orders else 'MDY'}"


def _taken_by(check: Callable[[str, str], object]) -> Callable[[str, str], str]:
    """Takes what a check takes, as it is written."""

    def take(name: str, text: str) -> str:
        check(text, name)
        return text

    return take


def _switch(name: str, text: str) -> str:
    if text.lower() in ("on", "true", "yes", "1", "t"):
        return "on"
    if text.lower() in ("off", "false", "no", "0", "f"):
        return "off"
    raise WireError(BAD_VALUE, f"{name} is on or off")


def _whole(most: int) -> Callable[[str, str], str]:
    def check(name: str, text: str) -> str:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= most:
            raise WireError(BAD_VALUE, f"{name} is a whole number from 1 to {most}")
        return str(int(text))

    return check


_UNITS = {"": 1, "us": 0.001, "ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def milliseconds(text: str, name: str) -> float:
    """A time as Postgres writes it: 1500, 2s, 1min."""
    time = re.fullmatch(r"\s*([0-9]{1,10})\s*([a-z]*)\s*", text)
    if time is None or time[2] not in _UNITS:
        raise WireError(BAD_VALUE, f"{name} is a time, such as 1500 or 2s or 1min")
    return int(time[1]) * _UNITS[time[2]]


@dataclass(frozen=True)
class Setting:
    """A setting that is known: its usual value, what it takes, and whether a client hears of changes."""

    usual: str
    check: Callable[[str, str], str] = _any
    reported: bool = False
    fixed: bool = False


_REPORTED = {
    "server_version": Setting(VERSION, fixed=True, reported=True),
    "server_encoding": Setting("UTF8", fixed=True, reported=True),
    "client_encoding": Setting("UTF8", _one_of("UTF8", "UNICODE"), reported=True),
    "application_name": Setting("", reported=True),
    "DateStyle": Setting("ISO, MDY", _iso, reported=True),
    "IntervalStyle": Setting("postgres", reported=True),
    "TimeZone": Setting("UTC", reported=True),
    "integer_datetimes": Setting("on", fixed=True, reported=True),
    "standard_conforming_strings": Setting("on", _one_of("on", "true", "1", "yes"), reported=True),
    "is_superuser": Setting("off", fixed=True, reported=True),
    "session_authorization": Setting("", fixed=True, reported=True),
    "in_hot_standby": Setting("off", fixed=True, reported=True),
    "default_transaction_read_only": Setting("on", reported=True),
    "search_path": Setting('"$user", public', reported=True),
}
_ECHOED = {
    "backslash_quote": "safe_encoding",
    "bytea_output": "hex",
    "client_min_messages": "notice",
    "constraint_exclusion": "partition",
    "cursor_tuple_fraction": "0.1",
    "default_transaction_deferrable": "off",
    "default_transaction_isolation": "read committed",
    "enable_mergejoin": "on",
    "enable_nestloop": "on",
    "enable_seqscan": "on",
    "escape_string_warning": "on",
    "extra_float_digits": "1",
    "geqo": "on",
    "idle_in_transaction_session_timeout": "0",
    "idle_session_timeout": "0",
    "jit": "off",
    "lc_collate": "C.UTF-8",
    "lc_ctype": "C.UTF-8",
    "lc_messages": "C",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "lc_time": "C",
    "lock_timeout": "0",
    "log_min_messages": "warning",
    "log_statement": "none",
    "maintenance_work_mem": "65536",
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "max_parallel_workers_per_gather": "2",
    "password_encryption": "scram-sha-256",
    "plan_cache_mode": "auto",
    "quote_all_identifiers": "off",
    "role": "none",
    "row_security": "on",
    "server_version_num": "160000",
    "ssl_renegotiation_limit": "0",
    "synchronize_seqscans": "on",
    "synchronous_commit": "on",
    "tcp_keepalives_idle": "0",
    "transaction_deferrable": "off",
    "transaction_isolation": "read committed",
    "transaction_read_only": "on",
    "work_mem": "4096",
    "xmloption": "content",
}
_TERMS = {
    "discreet.epsilon": Setting("", _taken_by(positive)),
    "discreet.rho": Setting("", _taken_by(positive)),
    "discreet.error": Setting("", _taken_by(positive)),
    "discreet.delta": Setting("", _taken_by(probability)),
    "discreet.confidence": Setting("0.95", _taken_by(share)),
    "discreet.intervals": Setting("off", _switch),
    "discreet.fresh": Setting("off", _switch),
    "discreet.max_rows": Setting("", _whole(MOST_ROWS_A_UNIT)),
    "discreet.max_groups": Setting("", _whole(MOST_GROUPS_A_UNIT)),
}
KNOWN: Mapping[str, Setting] = {
    **{name.lower(): setting for name, setting in _REPORTED.items()},
    **{name: Setting(usual) for name, usual in _ECHOED.items()},
    "statement_timeout": Setting("0", _taken_by(milliseconds)),
    **_TERMS,
}
_SPELLING = {name.lower(): name for name in _REPORTED}
_QUIET = ("warning", "error", "fatal", "panic", "log")
_PRICES = ("discreet.epsilon", "discreet.rho", "discreet.error")  # a question names one of them: the last that was set


@dataclass(frozen=True)
class Settings:
    """Settings of a session: its own, and those for the running transaction only."""

    own: Mapping[str, str] = field(default_factory=dict)
    local: Mapping[str, str] = field(default_factory=dict)
    first: Mapping[str, str] = field(default_factory=dict)  # what the connection began with, to which RESET goes back

    def value(self, name: str) -> str:
        """What a setting is."""
        text = self.known(name)
        if text is None:
            raise unknown(name)
        return text

    def known(self, name: str) -> str | None:
        """What a setting is; None if there is none of this name."""
        key = name.lower()
        usual = KNOWN[key].usual if key in KNOWN else None
        return self.local.get(key, self.own.get(key, self.first.get(key, usual)))

    def put(self, name: str, text: str, *, local: bool = False) -> Settings:
        """With a setting changed, if it takes the value."""
        return self._put(name.lower(), _checked(name.lower(), text), local=local)

    def _put(self, key: str, text: str, *, local: bool) -> Settings:
        if key not in KNOWN and key not in self.own and len(self.own) + len(self.local) >= len(KNOWN) + MOST_OWN:
            raise WireError(BAD_VALUE, f"a session has at most {MOST_OWN} settings of its own")
        others = {price: "" for price in _PRICES if key in _PRICES and price != key}
        layer = {**(self.local if local else self.own), **others, key: text}
        hidden = {name: value for name, value in self.local.items() if name not in {key, *others}}
        return replace(self, local=layer) if local else replace(self, own=layer, local=hidden)

    def reset(self, name: str | None = None) -> Settings:
        """As the connection began, for one setting or all."""
        if name is None:
            return Settings(first=self.first)
        if self.known(name) is None:
            raise unknown(name)
        key = name.lower()
        left = [{k: v for k, v in layer.items() if k != key} for layer in (self.own, self.local)]
        return replace(self, own=left[0], local=left[1])

    def committed(self) -> Settings:
        """After the transaction: what was set for it only is gone."""
        return replace(self, local={})

    @cached_property
    def terms(self) -> Mapping[str, object]:
        """On which terms questions are asked."""
        terms: dict[str, object] = {}
        for name in ("epsilon", "rho", "error", "delta", "confidence"):
            if text := self.value(OURS + name):
                terms[name] = text
        for name in ("max_rows", "max_groups"):
            if text := self.value(OURS + name):
                terms[name] = int(text)
        return {**terms, "fresh": True} if self.on("discreet.fresh") else terms

    @cached_property
    def patience(self) -> float | None:
        """How many seconds a statement may take; None: as long as it does."""
        return milliseconds(self.value("statement_timeout"), "statement_timeout") / 1000 or None

    @cached_property
    def talkative(self) -> bool:
        """Whether the client wants to hear what is no error."""
        return self.value("client_min_messages").lower() not in _QUIET

    def on(self, name: str) -> bool:
        """Whether a switch is on."""
        return self.value(name) == "on"

    def reported(self) -> dict[str, str]:
        """What a client is told without asking."""
        return {_SPELLING[key]: self.value(key) for key in _SPELLING}

    def every(self) -> list[tuple[str, str]]:
        """All settings with their values."""
        names = sorted({*KNOWN, *self.own, *self.local, *self.first})
        return [(_SPELLING.get(name, name), self.value(name)) for name in names]


def started(user: str, fields: Mapping[str, str]) -> Settings:
    """The settings that a connection begins with: its own fields, and those of `options`."""
    chosen = {"session_authorization": user}
    wanted = [*_options(fields.get("options", ""))]
    wanted += [
        (name, text) for name, text in fields.items() if name not in ("user", "database", "options", "replication")
    ]
    for name, text in wanted:
        if not name.startswith("_pq_."):
            key = name.lower()
            chosen[key] = _checked(key, text)
            chosen.update({price: "" for price in _PRICES if key in _PRICES and price != key})
    return Settings(first=chosen)


def _options(text: str) -> list[tuple[str, str]]:
    """The settings of -c name=value and --name=value, where a backslash keeps a space."""
    words = [re.sub(r"\\(.)", r"\1", word) for word in re.findall(r"(?:[^\s\\]|\\.)+", text)]
    options: list[tuple[str, str]] = []
    after_c = False
    for word in words:
        if word == "-c" and not after_c:
            after_c = True
            continue
        pair = word if after_c else word.removeprefix("--") if word.startswith("--") else word.removeprefix("-c")
        name, equals, value = pair.partition("=")
        if not equals or (not after_c and not word.startswith(("-c", "--"))):
            raise _no_option()
        options.append((name.replace("-", "_"), value))
        after_c = False
    if after_c:
        raise _no_option()
    return options


def _no_option() -> WireError:
    return WireError(BAD_VALUE, "the options of a connection are -c name=value", fatal=True)


def _checked(key: str, text: str) -> str:
    """What is kept of a value, if the setting takes it."""
    if len(text) > LONGEST:
        raise WireError(BAD_VALUE, f"a setting has at most {LONGEST} characters")
    setting = KNOWN.get(key)
    if setting is None:
        if not re.fullmatch(r"[a-z_][a-z0-9_$]{0,62}(\.[a-z_][a-z0-9_$]{0,62})+", key) or key.startswith(OURS):
            raise unknown(key)
        return text
    if setting.fixed:
        raise WireError("55P02", f"{key} cannot be changed")
    try:
        return setting.check(key, text.strip())
    except Refusal as refused:
        raise WireError(BAD_VALUE, refused.message, hint=refused.hint) from None


def unknown(name: str) -> WireError:
    """There is no such setting."""
    ours = ", ".join(key.removeprefix(OURS) for key in _TERMS)
    hint = f"discreet has the settings {ours}" if name.lower().startswith(OURS) else ""
    return WireError("42704", f"there is no setting {name[:80]!r}", hint=hint)


# set_config() and current_setting(): SET and SHOW for those who can only select ---------------------------------------

FUNCTIONS = ("set_config", "current_setting")


@dataclass(frozen=True)
class SettingCall:
    """One of the two functions, its arguments (None: NULL), and what its column is called."""

    function: str
    arguments: tuple[str | None, ...]
    column: str


def calls(text: str) -> list[SettingCall] | None:
    """The calls that a question consists of; None if it asks for anything else."""
    if not any(function in text.lower() for function in FUNCTIONS):
        return None
    listed = words(text)
    if not listed or listed[0].upper != "SELECT" or not any(word.name in FUNCTIONS for word in listed[1:4]):
        return None
    setting_calls: list[SettingCall] = []
    at = 1
    while at < len(listed):
        read = _setting_call(listed, at)
        if read is None:
            return None
        call, at = read
        setting_calls.append(call)
        if at < len(listed) and listed[at].text != ",":
            return None
        at += 1
    return setting_calls


def _setting_call(listed: Sequence[Word], at: int) -> tuple[SettingCall, int] | None:
    if [word.name for word in listed[at : at + 2]] == ["pg_catalog", "."]:
        at += 2
    if at + 1 >= len(listed) or listed[at].name not in FUNCTIONS or listed[at + 1].text != "(":
        return None
    function, closing = listed[at].name, matching(listed, at + 1)
    arguments = [word for word in listed[at + 2 : closing] if word.text != ","]
    if any(word.kind not in ("string", "param") and word.name not in ("true", "false", "null") for word in arguments):
        return None
    values = tuple(None if word.upper == "NULL" else word.name for word in arguments)
    at = closing + 1
    if at < len(listed) and listed[at].upper == "AS":
        at += 1
    if at < len(listed) and listed[at].kind in ("word", "quoted"):
        return SettingCall(function, values, listed[at].name), at + 1
    return SettingCall(function, values, function), at


def called(call: SettingCall, settings: Settings) -> tuple[Settings, str | None]:
    """The settings after a call, and its value."""
    match call.function, call.arguments:
        case "set_config", (str(name), str(value), local):
            changed = settings.put(name, value, local=local in ("true", "t", "on", "1"))
            return changed, changed.value(name)
        case "set_config", (str(name), None, _):
            changed = settings.reset(name)
            return changed, changed.value(name)
        case "current_setting", (str(name),):
            return settings, settings.value(name)
        case "current_setting", (str(name), "true" | "t"):
            return settings, settings.known(name)
        case "current_setting", (str(name), "false" | "f"):
            return settings, settings.value(name)
        case _:
            raise WireError(BAD_VALUE, f"{call.function} takes other arguments")

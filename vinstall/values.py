"""Frozen values that cost next to nothing until they are used.

``dataclasses`` writes, compiles and runs the methods of each class when its module is
imported, and imports ``inspect``. A command imports a
hundred such classes and makes values of a few. ``dataclass`` here reads the same class
bodies and gives the same behaviour, but writes ``__init__`` when the first value is made;
the other methods are written once, for all classes. ``dataclasses.replace``, ``asdict`` and
``fields`` work on the values. For type checkers it is ``dataclasses.dataclass`` itself.

Only what this project uses is here: ``frozen``, ``slots`` and ``order``, and fields with
``default``, ``default_factory``, ``hash`` and ``compare``; no inheritance of fields.
"""

from __future__ import annotations

from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    _Class = type[Any]

_MISSING: Any = object()


class _Field:
    """What is said of one field."""

    __slots__ = ("compare", "default", "default_factory", "hash", "name")

    def __init__(
        self,
        *,
        default: Any = _MISSING,
        default_factory: Any = _MISSING,
        hash: bool | None = None,  # noqa: A002 (as dataclasses)
        compare: bool = True,
    ) -> None:
        self.name = ""
        self.default = default
        self.default_factory = default_factory
        self.hash = hash
        self.compare = compare


def _make_decorator(
    cls: _Class | None = None, *, frozen: bool = False, slots: bool = False, order: bool = False
) -> Any:
    if cls is not None:
        return _make_class(cls, frozen, slots, order)
    return lambda cls: _make_class(cls, frozen, slots, order)


def _annotations(cls: _Class) -> dict[str, Any]:
    """The annotations of a class body; from 3.14 on they are worked out when asked for."""
    found: dict[str, Any] = cls.__annotations__
    return found


def _make_class(cls: _Class, frozen: bool, slots: bool, order: bool) -> _Class:
    namespace = dict(cls.__dict__)
    fields = {}
    for name, annotation in _annotations(cls).items():
        if str(annotation).startswith("ClassVar"):
            continue
        given = namespace.pop(name, _MISSING)
        one = given if isinstance(given, _Field) else _Field(default=given)
        one.name = name
        fields[name] = one
    namespace.pop("__dict__", None)
    namespace.pop("__weakref__", None)
    names = tuple(fields)
    compared = _getter([name for name, one in fields.items() if one.compare])
    hashed = _getter(
        [name for name, one in fields.items() if (one.compare if one.hash is None else one.hash)]
    )
    if slots:
        namespace["__slots__"] = names
    namespace.setdefault("__match_args__", names)
    namespace["__value_fields__"] = fields
    namespace["__dataclass_fields__"] = _RealFields()
    namespace["__dataclass_params__"] = None
    for name, method in {**_METHODS, **(_REFUSALS if frozen else {})}.items():
        namespace.setdefault(name, method)
    made: Any = None

    def is_equal(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self is other or compared(self) == compared(other)

    def make_hash(self: Any) -> int:
        return hash(hashed(self))

    def make(self: Any, *values: object, **named: object) -> None:
        init = _write_init(made, fields)
        made.__init__ = init
        init(self, *values, **named)

    if "__eq__" not in cls.__dict__:
        namespace["__eq__"] = is_equal
    if cls.__dict__.get("__hash__") is None:
        namespace["__hash__"] = make_hash if frozen else None
    namespace["__init__"] = make
    if order:
        for name, compare in _orders(compared).items():
            namespace[name] = compare
    kind: Any = type(cls)
    made = kind(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    result: _Class = made
    return result


def _getter(names: list[str]) -> Callable[[Any], Any]:
    """Values of some fields as something that can be compared and hashed."""
    if not names:
        return lambda value: ()
    if len(names) == 1:
        get = attrgetter(names[0])
        return lambda value: (get(value),)
    return attrgetter(*names)


def _write_init(cls: _Class, fields: dict[str, Any]) -> Callable[..., None]:
    """``__init__`` that sets the slots by their descriptors."""
    known: dict[str, object] = {"MISSING": _MISSING}
    arguments, body = [], []
    for name, one in fields.items():
        known[f"set_{name}"] = _setter(cls, name)
        if one.default_factory is not _MISSING:
            known[f"make_{name}"] = one.default_factory
            arguments.append(f"{name}=MISSING")
            value = f"make_{name}() if {name} is MISSING else {name}"
        elif one.default is not _MISSING:
            known[f"default_{name}"] = one.default
            arguments.append(f"{name}=default_{name}")
            value = name
        else:
            arguments.append(name)
            value = name
        body.append(f" set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    text = f"def __init__({', '.join(['self', *arguments])}):\n" + ("\n".join(body) or " pass")
    exec(text, known)
    init: Any = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init  # type: ignore[no-any-return]


def _setter(cls: _Class, name: str) -> Callable[[object, object], None]:
    """What sets a field, of a frozen value too."""
    if "__slots__" in cls.__dict__:
        set_slot: Callable[[object, object], None] = cls.__dict__[name].__set__
        return set_slot
    return lambda value, content: object.__setattr__(value, name, content)


def _orders(compared: Callable[[Any], Any]) -> dict[str, Callable[[Any, Any], Any]]:
    import operator

    def make(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
        def method(self: Any, other: Any) -> Any:
            if other.__class__ is not self.__class__:
                return NotImplemented
            return compare(compared(self), compared(other))

        return method

    return {f"__{name}__": make(getattr(operator, name)) for name in ("lt", "le", "gt", "ge")}


class _RealFields:
    """What ``dataclasses`` wants to know of a class, made when it asks."""

    def __get__(self, instance: object, cls: _Class) -> Any:
        import dataclasses

        found = cls.__dict__.get("_real_fields")
        if found is None:
            body: dict[str, object] = {"__annotations__": {}}
            for name, one in cls.__value_fields__.items():
                body["__annotations__"][name] = "object"  # type: ignore[index]
                if one.default_factory is not _MISSING:
                    body[name] = dataclasses.field(
                        default_factory=one.default_factory, hash=one.hash, compare=one.compare
                    )
                elif one.default is not _MISSING:
                    body[name] = dataclasses.field(
                        default=one.default, hash=one.hash, compare=one.compare
                    )
            plain: Any = dataclasses.dataclass(type(cls.__name__, (), body))
            found = plain.__dataclass_fields__
            cls._real_fields = found
        return found


def _refuse_set(self: object, name: str, value: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: object, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _show(self: Any) -> str:
    parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__value_fields__)
    return f"{self.__class__.__qualname__}({parts})"


def _get_state(self: Any) -> list[object]:
    return [getattr(self, name) for name in self.__value_fields__]


def _set_state(self: Any, state: list[object]) -> None:
    for name, value in zip(self.__value_fields__, state, strict=True):
        object.__setattr__(self, name, value)


_REFUSALS = {"__setattr__": _refuse_set, "__delattr__": _refuse_delete}
_METHODS = {
    "__repr__": _show,
    "__getstate__": _get_state,
    "__setstate__": _set_state,
}


def _replace(value: Any, /, **changes: Any) -> Any:
    """The same value with other fields (see ``dataclasses.replace``)."""
    old = {name: getattr(value, name) for name in value.__value_fields__ if name not in changes}
    return value.__class__(**old, **changes)


_BODY = frozenset(
    {"__annotations__", "__annotate_func__", "__conditional_annotations__", "__module__"}
    | {"__qualname__", "__dict__", "__slots__", "__firstlineno__", "__static_attributes__"}
)


class _TupleMaker(type):
    """Makes tuples with names out of class bodies, as ``typing.NamedTuple`` does."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, body)
        from collections import namedtuple as make_tuple

        fields = _annotations(type(name, (), dict(body)))
        defaults = [body[one] for one in fields if one in body]
        make: Any = make_tuple
        made: Any = make(name, fields, defaults=defaults, module=body["__module__"])
        for key, value in body.items():
            if key not in fields and key not in _BODY:
                setattr(made, key, value)
        made.__qualname__ = body["__qualname__"]
        return made


class _NamedTuple(metaclass=_TupleMaker):
    """What stands for ``typing.NamedTuple``, whose module most commands do not need."""


if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
    from typing import NamedTuple, cast
else:

    def cast(kind: object, value: object) -> object:
        """As ``typing.cast``."""
        del kind
        return value

    dataclass = _make_decorator
    field = _Field
    replace = _replace
    NamedTuple = _NamedTuple

__all__ = ["NamedTuple", "cast", "dataclass", "field", "replace"]

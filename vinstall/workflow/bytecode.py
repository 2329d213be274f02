"""Bytecode for what is installed: compiled while other files still arrive."""

from __future__ import annotations

from vinstall.events import Warned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from vinstall.wheel.bytecode import Bytecode, Compiler
    from vinstall.workflow.context import Context


def make_compiler(context: Context) -> Compiler | None:
    """What compiles for the environment; ``None`` where nobody asked, or it keeps none."""
    facts = context.base_target.facts
    if not context.settings.compile or not facts.get("cache_tag") or not facts.get("magic"):
        return None
    from vinstall.providers.run import clean_environment
    from vinstall.wheel.bytecode import Compiler, CompilerFacts

    return Compiler(
        CompilerFacts(
            executable=context.base_target.executable,
            cache_tag=facts["cache_tag"],
            magic=facts["magic"],
            by_hash=bool(context.environment.get("SOURCE_DATE_EPOCH")),
            environment=clean_environment(context.environment),
        ),
        context.work_folder,
    )


def take_bytecode(context: Context, compiler: Compiler) -> Mapping[str, Bytecode]:
    """SHA-256 of each wheel → its bytecode, when all is compiled; tells if some is missing."""
    found, problem = compiler.finish()
    if problem:
        context.observer.receive(
            Warned("bytecode", f"Not everything could be compiled to bytecode: {problem}.")
        )
    return found

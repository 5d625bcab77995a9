"""`mcettr check`: validate a scenario and derive what closed forms give, at once."""

from __future__ import annotations

from mcettr.cli import options as o
from mcettr.cli import session as s

EXAMPLE = "Example:  mcettr check rsc-1 --set job.gpus=12288 --set 'checkpoint.write_time=10 s'"


def check(
    scenario: o.ScenarioArgument,
    set_: o.SetOption = None,
    json: o.JsonOption = False,
    quiet: o.QuietOption = False,
) -> None:
    """Validate a scenario; its MTTF, best interval and exact ETTR, without simulation."""
    from mcettr.report.check_text import check_object, check_text
    from mcettr.report.derived import derive
    from mcettr.report.text import terminal_width

    job = s.load_scenario(scenario, set_)
    derived = derive(job)
    s.notes(derived.warnings, quiet)
    if json:
        s.emit_json(check_object(job, derived))
    else:
        s.emit(check_text(job, derived, terminal_width()))

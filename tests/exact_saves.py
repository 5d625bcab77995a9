"""Exact values for saves that are silently corrupt, cannot be read back, or come in two tiers.

Seconds and 1 / seconds throughout. Each docstring says for which job the value is exact.
"""

from __future__ import annotations

import math
from collections.abc import Hashable

from tests.exact_chains import Stage, mean_time_s


def silent_verified_completion_s(
    rate_per_s: float, n: int, interval_s: float, verify_s: float, write_s: float, down_s: float, restore_s: float = 0.0
) -> float:
    """Return the mean time in which n intervals are done, when corruption shows at the check before each save.

    Exact for silent strikes alone, at a constant rate a second of work computed, never noticed but by verification
    (detection: never), blocking writes, work = n intervals. `down_s` is diagnosis + queue + startup; the restore is
    paid once there is a save. An interval is clean with probability e^(-rate T), else T + verify + restart are lost.

    >>> V1_13 = silent_verified_completion_s(1 / 120_000, 1, 6570.0, 60.0, 300.0, 300.0)
    >>> round(6570.0 / V1_13, 4)
    0.8975
    """
    again = math.expm1(rate_per_s * interval_s)
    first_s = interval_s + verify_s + write_s + again * (interval_s + verify_s + down_s)
    return n * first_s + (n - 1) * again * restore_s


def silent_latency_ettr(
    rate_per_s: float, interval_s: float, write_s: float, latency_s: float, restart_s: float
) -> float:
    """Return the long-run ETTR when silent corruption shows after a latency of training time, and all saves are kept.

    Exact for silent strikes alone, without verification, blocking writes, any latency law of that mean, and an endless
    job. A strike comes after Exp(rate) of work, floor(work / T) saves of which are clean and kept; then the latency and
    the restart (diagnosis, queue, startup, restore) are lost. Strikes meanwhile are ignored.

    >>> round(silent_latency_ettr(1e-5, 1000.0, 0.0, 0.0, 0.0), 4)  # like a crash
    0.995
    """
    clean_saves = 1.0 / math.expm1(rate_per_s * interval_s)
    return clean_saves * interval_s / (1.0 / rate_per_s + clean_saves * write_s + latency_s + restart_s)


def two_tier_ettr(
    crash_rate_per_s: float,
    loss_rate_per_s: float,
    local_s: float,
    n_a_main: int,
    local_stall_s: float,
    main_stall_s: float,
    crash_down_s: float,
    loss_down_s: float,
) -> float:
    """Return the long-run ETTR with local saves that survive crashes and not the loss of a node.

    Exact for two causes at constant rates (nodes lost 0 and 1, survives_node_losses 0), blocking saves in both tiers,
    no startup and restore (all of a restart in the causes' diagnosis), and an endless job. The position in the main
    interval survives a crash; a loss sets it back to its beginning, without a local save until the next one. No local
    save is made where a main one is, and that leaves no copy.

    >>> args = (0.85 / 10800, 0.15 / 10800, 9.13 * 60, 12, 12.0, 300.0, 60.0, 480.0)
    >>> round(two_tier_ettr(*args), 3)
    0.862
    """
    return (
        n_a_main
        * local_s
        / two_tier_main_s(
            crash_rate_per_s,
            loss_rate_per_s,
            local_s,
            n_a_main,
            (local_stall_s, main_stall_s),
            (crash_down_s, loss_down_s),
        )
    )


def two_tier_main_s(
    crash_rate_per_s: float,
    loss_rate_per_s: float,
    local_s: float,
    n_a_main: int,
    stalls_s: tuple[float, float],
    downs_s: tuple[float, float],
    restores_s: tuple[float, float] = (0.0, 0.0),
) -> float:
    """Return the mean time from one main save to the next; (local, main) pairs, else as in `two_tier_ettr`.

    With `restores_s` at risk: after a crash the local save is read if it is newer than the main one (after a loss
    there is none until the next), else the main one.
    """
    (local_stall, main_stall), (crash_down, loss_down), (local_restore, main_restore) = stalls_s, downs_s, restores_s

    def failures(after_crash: Hashable) -> tuple[tuple[float, float, Hashable], ...]:
        return (crash_rate_per_s, crash_down, after_crash), (loss_rate_per_s, loss_down, "read main")

    stages: dict[Hashable, Stage] = {"read main": Stage(main_restore, 0, failures("read main"))}
    for j in range(n_a_main):
        back = ("read local", j) if j else "read main"
        stages[back] = Stage(local_restore if j else main_restore, j, failures(back))
        if j < n_a_main - 1:
            stages[j] = Stage(local_s + local_stall, j + 1, failures(back))
    back = ("read local", n_a_main - 1) if n_a_main > 1 else "read main"
    stages[n_a_main - 1] = Stage(local_s + main_stall, None, failures(back))
    return mean_time_s(stages, 0)


def bad_saves_ettr(
    rate_per_s: float, interval_s: float, write_s: float, bad: float, restart_s: float, restore_s: float, down_s: float
) -> float:
    """Return the long-run ETTR when each save is unreadable with probability `bad`, and all are kept.

    Exact for one crash cause at a constant rate, blocking saves, keep = inf, an endless job; startup and restores of
    fixed length at risk, `down_s` without risk. K saves are made in an attempt that trains: geometric with
    x = e^(-rate (T + write)). The failed reads after it are m = min(geometric(bad), K), as the save that the attempt
    began from is known to be good; the next attempt trains if it survives startup and m + 1 reads, and m = 0 after one
    that made none. z is the stationary chance that an attempt makes a save.

    >>> from mcettr.model.renewal import long_run_ettr
    >>> plain = float(long_run_ettr(1e-4, 1800.0, stall_s=60.0, restart_s=300.0, downtime_s=50.0))
    >>> math.isclose(bad_saves_ettr(1e-4, 1800.0, 60.0, 0.0, 200.0, 100.0, 50.0), plain)
    True
    """
    x = math.exp(-rate_per_s * (interval_s + write_s))
    y = math.exp(-rate_per_s * restore_s)
    clean = math.exp(-rate_per_s * (restart_s + restore_s))
    reading = clean * (1.0 - bad + bad * (1.0 - bad * x) * y / (1.0 - bad * x * y))
    z = x * clean / (1.0 - x * (reading - clean))
    saves = z * (1.0 / (1.0 - x) - bad / (1.0 - bad * x))
    return saves * interval_s * rate_per_s / (1.0 + rate_per_s * down_s)


def mean_fallback(rate_per_s: float, interval_s: float, write_s: float, bad: float) -> float:
    """Return the mean number of failed reads after a failure of a job that restarts at once: b x / (1 - b x).

    Same job as in `bad_saves_ettr`, without startup and restore.

    >>> round(mean_fallback(1e-4, 1000.0, 0.0, 0.5), 4)
    0.8262
    """
    both = bad * math.exp(-rate_per_s * (interval_s + write_s))
    return both / (1.0 - both)


def fast_forward_reads_s(
    every_s: float, interval_s: float, write_s: float, restart_s: float, share: float, before_s: float, n: int
) -> tuple[float, list[float]]:
    """Return (work saved, time spent skipping data at each restart) after n failures at fixed at-risk times.

    Exact for one cause with `every` fixed, blocking saves, an endless job with a save at its start, restart (startup
    and restore) of fixed length: the k-th restart skips share x (work before + work saved).

    >>> fast_forward_reads_s(1000.0, 300.0, 0.0, 100.0, 0.01, 0.0, 2)
    (1500.0, [0.0, 9.0])
    """
    saved, skipped = 0.0, []
    for _ in range(n):
        skipped.append(share * (before_s + saved))
        left = every_s - restart_s - skipped[-1]
        saved += max(math.floor(left / (interval_s + write_s)), 0) * interval_s
    return saved, skipped

"""What ``dpcalc verify`` does: judge claims, attack them, write what was asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcalc.cli._certify import NOTHING_PROVED, Certificates, print_certificates
from dpcalc.cli._json import print_json
from dpcalc.cli._kept import kept_work, refuse_checkpoint
from dpcalc.cli._options import refuse_given
from dpcalc.cli._workers import refuse_workers, workers_of

if TYPE_CHECKING:
    from dpcalc.auditing.result import AuditResult
    from dpcalc.claims.verdict import AnyClaim, Judgement

_ATTACKS = "dpcalc.auditing.experiment"
"""What workers have loaded before attacks begin."""


def judge(
    file: Path | None,
    *,
    strict: bool,
    details: bool,
    audit: bool,
    alpha: float,
    runs: int,
    seed: int,
    memory: float | None,
    junit: Path | None,
    checkpoint: Path | None,
    resume: bool,
    report: Path | None,
    as_json: bool,
    certify: Path | None,
    **who: Any,
) -> int:
    """The exit status of a file of claims, after all is printed and written."""
    from dpcalc.claims.file import default_file, read_claims
    from dpcalc.cli._outputs import Writing

    if not audit:
        refuse_given(("alpha", "runs", "seed", "memory"), "--audit")
        refuse_workers(who, "--audit")
        refuse_checkpoint(checkpoint, "--audit", resume=resume)
    if as_json:
        refuse_given(("details",), "text, --json has them")
    certificates, writing = Certificates(certify), Writing()
    _check_outputs(file, junit=junit, certify=certify, report=report)
    claims = read_claims(file if file is not None else default_file())
    if audit:
        _need_libraries(claims)
    judgements = list(_judged(claims))
    attacks = None
    if audit:
        terms = {"alpha": alpha, "runs": runs, "seed": seed, "memory": memory}
        kept = kept_work(checkpoint, _work(judgements, terms), resume=resume)
        with kept as store, workers_of(who, _ATTACKS) as executor:
            attacks = _attacked(judgements, terms | {"checkpoint": store, "executor": executor})
    records = [_record(j, attacks, number) for number, j in enumerate(judgements)]
    answer: dict[str, Any] = {"claims": records}
    if not as_json:
        _print(judgements, attacks, file, details=details)
    if certify is not None:
        _certify(certificates, judgements, records, file)
    status = certificates.write(writing)
    if junit is not None:
        writing.attempt(lambda: _write_junit(junit, records, file, strict=strict))
    if report is not None:
        written = writing.attempt(lambda: _write_report(report, judgements, attacks, file, records))
        answer |= {"report": str(report)} if written else {}
    demonstration, failed = file is None and not strict, _failed(judgements, attacks, strict=strict)
    if as_json:
        print_json(answer)
    else:
        print_certificates(records)
        if demonstration and failed:
            _print_demonstration()
    writing.settle()
    return 0 if demonstration else int(failed) or status


def _need_libraries(claims: Sequence[AnyClaim]) -> None:
    """Refuse, before anything is computed, attacks that cannot be run here."""
    from dpcalc.audits.suite.catalogue import need_libraries

    need_libraries(claim.key for claim in claims if claim.key is not None)


def _check_outputs(
    file: Path | None, *, junit: Path | None, certify: Path | None, report: Path | None
) -> None:
    """Refuse, before anything is computed, what could not be written at the end."""
    from dpcalc.cli._outputs import check_outputs

    if report is not None:
        from dpcalc.report.document import check_ending

        check_ending(report, "--report")
    outputs = [("--junit", junit), ("--certify", certify), ("--report", report)]
    check_outputs(outputs, inputs=[file])


def _failed(
    judgements: Sequence[Judgement], attacks: Sequence[AuditResult | None] | None, *, strict: bool
) -> bool:
    """Whether an instance or an attack refutes a claim; strictly, or one has no support."""
    from dpcalc.vocabulary import Verdict

    bad = {Verdict.REFUTED, Verdict.UNSUPPORTED} if strict else {Verdict.REFUTED}
    attacked = any(a is not None and a.refuted for a in attacks or ())
    return attacked or any(j.verdict in bad for j in judgements)


def _write_junit(
    path: Path, records: Sequence[dict[str, Any]], file: Path | None, *, strict: bool
) -> None:
    from dpcalc.report.junit import write_junit

    suite = file.name if file is not None else "headline settings"
    write_junit(path, records, suite=suite, strict=strict)


def _write_report(
    path: Path,
    judgements: Sequence[Judgement],
    attacks: Sequence[AuditResult | None] | None,
    file: Path | None,
    records: Sequence[dict[str, Any]],
) -> None:
    from dpcalc.claims.file import default_file
    from dpcalc.cli._certify import certificate_line
    from dpcalc.cli._outputs import this_command
    from dpcalc.report.claims_report import claims_report
    from dpcalc.report.document import write_report

    title = "Privacy claims of five papers" if file is None else f"Privacy claims: {file.name}"
    source = file or default_file()
    lines = [certificate_line(record) for record in records]
    found = claims_report(
        title, judgements, attacks, command=this_command(), file=source, certificates=lines
    )
    write_report(path, found)


def _certify(
    certificates: Certificates,
    judgements: Sequence[Judgement],
    records: list[dict[str, Any]],
    file: Path | None,
) -> None:
    """Certify the ε that is proved for every claim."""
    from dpcalc.claims.file import default_file
    from dpcalc.claims.verdict import Claim
    from dpcalc.report.text import with_progress

    source = (file or default_file()).name
    numbered = list(enumerate(zip(judgements, records, strict=True), start=1))
    for number, (judgement, record) in with_progress(numbered, "certifying claims", few=1):
        claim = judgement.claim
        if judgement.certified < math.inf:
            guarantee = claim.guarantee
            spent, relation = judgement.certified, claim.relation.name
            theorem = claim.theorem if isinstance(claim, Claim) else None
            named = (source, number, claim.name)
            certificates.add_guarantee(
                record, spent, guarantee, relation, claim.delta, theorem, named
            )
        else:
            record["certificate"] = {
                "file": None, "upper": NOTHING_PROVED, "lower": NOTHING_PROVED, "lower_of": None,
            }  # fmt: skip


def _print(
    judgements: Sequence[Judgement],
    attacks: Sequence[AuditResult | None] | None,
    file: Path | None,
    *,
    details: bool,
) -> None:
    """Verdicts, then attacks: before certificates, which take longer."""
    from dpcalc.report.attacks import print_attacks
    from dpcalc.report.claims_text import print_claims

    print_claims(judgements, file, details=details)
    if attacks is not None:
        print_attacks(judgements, attacks)


def _record(
    judgement: Judgement, attacks: Sequence[AuditResult | None] | None, number: int
) -> dict[str, Any]:
    record = judgement.record()
    if attacks is not None:
        found = attacks[number]
        record["audit"] = None if found is None else found.record()
    return record


def _work(judgements: Sequence[Judgement], terms: dict[str, Any]) -> dict[str, Any]:
    """What decides the bits of the attacks: the claims by what they say, wherever they lie."""
    from dpcalc.archive import checksum
    from dpcalc.report.records import to_json

    claims = to_json([judgement.record() for judgement in judgements])
    digest = checksum({"claims": claims}, {})[:32]
    return {"work": "verify --audit", "digest_of_the_claims": digest, **terms}


def _attacked(judgements: Sequence[Judgement], terms: dict[str, Any]) -> list[AuditResult | None]:
    """Every claim attacked on the worst mechanism known; None where there is none."""
    from dpcalc.audits.suite.claims_file import attack_claims
    from dpcalc.report.text import with_progress

    told = with_progress(judgements, "attacking claims")
    return attack_claims(told, count=len(judgements), **terms)


def _judged(claims: Sequence[AnyClaim]) -> Iterator[Judgement]:
    """Judgements one by one, with a progress bar on standard error when there are many."""
    from dpcalc.errors import DpcalcError, InvalidInput
    from dpcalc.report.text import with_progress

    for number, claim in enumerate(with_progress(claims, "checking claims", few=2), start=1):
        try:
            yield claim.judged()
        except DpcalcError as error:
            raise InvalidInput(f"claim {number} ({claim.name}): {error}") from error


def _print_demonstration() -> None:
    from dpcalc.report.text import console

    console().print(
        "[dim]A demonstration, so the exit status is 0. With a claims file of your own REFUTED makes "
        "it 1; with --strict, UNSUPPORTED too.[/]"
    )

"""What leaks? One file per attacked algorithm: the paper's claim, the correct twin, planted bugs.

    from dpcalc.audits.suite.catalogue import audit_of
    for case in audit_of("dp-admm").cases:
        target, claim = case.instance().target, case.instance().claim

The only place that joins a theorem, an algorithm and an adversary. Found by folder: a new file with
an ``AUDIT`` is on the command line at once.
"""

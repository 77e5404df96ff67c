"""Rules of this product, checked on every reply. The gates follow after them, as in any run."""


def test_replies_stay_short(hush_record):
    assert len(hush_record.reply.split()) <= 150


def test_the_disclosure_is_never_stated(hush_case, hush_score):
    assert hush_score.target_uptake < 1, f"{hush_case.id}: {hush_score.evidence}"

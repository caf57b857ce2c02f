"""Every attack that may say "not identifiable", and the theorem or rank that it rests on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import fedleak.attacks

# Where the words stand in the attacks, and what each refusal rests on.
GROUNDS = {
    "arbiter/arbiter_collusion.py": "rank 0: no equation of scores and gradients says anything",
    "binary/binary_records.py": "theorem: real columns are free up to a rotation of the rows that X^T X and X^T Y keep",
    "binary/row_owners.py": "fedleak/missing-parties: with nobody missing every message is that of any division",
    "binary/column_products.py": "rank 0 of the models at the precision of the updates, from the view",
    "boosting/histogram_decoding.py": "symmetry: every cell is of rows that all sums leave exchangeable",
    "gram/gram_estimate.py": "rank of the updates, from the view; then a search goes on where batches differ",
    "gram/gram_recovery.py": "theorem: several outside add up to one score",
    "gram/gram_search.py": "count: fewer scores than unknowns leave a family of tables",
    "inversion/average_inversion.py": "rank of the averages, from the view; or several parties that are one sum",
    "inversion/rotation_matching.py": "li2021/theorem-1 and 2: nothing is known that fixes the rotation",
    "inversion/rotation_solve.py": "li2021/theorem-1 and 2: fewer known cells than degrees of freedom",
    "predictions/equality_solving.py": "rank: no row gives an equation",
    "predictions/grid_answer.py": "nothing was released",
    "residuals/minimum_norm_labels.py": "the view holds no round with a batch and a gradient",
    "residuals/residual_recovery.py": "rank of each batch's own rows, from the view (hu2022/corollary-3.2)",
    "residuals/score_recovery.py": "rank 0 of each batch's own rows; or several parties that are one sum",
    "residuals/single_column_recovery.py": "hu2022/theorem-3.6, or the rank of each batch's own rows",
    "residuals/trajectory.py": "rank of a batch's own rows, from the view",
    "verdicts.py": "where refusals are made",
}
REFUSING = re.compile(r"NOT_IDENTIFIABLE|NotIdentified\(|\bnothing\(view")


def refusing_files() -> Iterator[str]:
    folder = Path(fedleak.attacks.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        if REFUSING.search(path.read_text(encoding="utf-8")):
            yield path.relative_to(folder).as_posix()


def test_every_refusal_names_its_grounds():
    only_undetermined = {
        "alignment/aligned_members.py",
        "boosting/offered_splits.py",
        "boosting/sample_gradients.py",
        "boosting/threshold_search.py",
        "networks/cafe_pictures.py",
        "networks/cafe_printed.py",
        "networks/embedding_course.py",
        "networks/embedding_regression.py",
        "networks/gradient_factoring.py",
        "networks/gradient_matching.py",
        "networks/gradient_labels.py",
        "networks/gradient_separation.py",
        "networks/model_completion.py",
        "networks/picture_separation.py",
        "networks/update_factoring.py",
        "residuals/bounded_score_labels.py",
        "residuals/ciphertext_sign.py",
        "residuals/unblinded_exchange.py",
        "residuals/unblinded_labels.py",
    }
    assert set(refusing_files()) - only_undetermined == set(GROUNDS)

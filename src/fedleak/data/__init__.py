"""Tables and images from their sources, and their partition among parties.

    spec = DataSpec(source="sklearn:breast_cancer")
    table = load_table(spec)
    parties = split_vertical(table, ByRatio({"bank": 0.4, "fintech": 0.6}), labels_at="bank", rng=rng)

pandas, scikit-learn and SciPy are imported where they are used, never with this package.
"""

from fedleak.data.column_encoding import ColumnEncoding
from fedleak.data.encoding import EncodedTable, decode, decode_cells, encode, load_table
from fedleak.data.images import ImageSet, load_images
from fedleak.data.label_encoding import LabelEncoding
from fedleak.data.partition.by_columns import ByColumns, ByRatio, VerticalPartition, split_vertical
from fedleak.data.partition.by_correlation import ByCorrelation
from fedleak.data.partition.by_patches import ByNamedPatches, ByPatches, split_images
from fedleak.data.partition.by_rows import ByLabelSkew, ByRowCount, ByRowRatio, HorizontalPartition, split_horizontal
from fedleak.data.partition.shares import split_holdout
from fedleak.data.raw_table import RawColumn, RawTable, from_arrays, from_pandas
from fedleak.data.sources import load
from fedleak.data.spec import DataSpec, EncodingOptions

__all__ = [
    "ByColumns",
    "ByCorrelation",
    "ByLabelSkew",
    "ByNamedPatches",
    "ByPatches",
    "ByRatio",
    "ByRowCount",
    "ByRowRatio",
    "ColumnEncoding",
    "DataSpec",
    "EncodedTable",
    "EncodingOptions",
    "HorizontalPartition",
    "ImageSet",
    "LabelEncoding",
    "RawColumn",
    "RawTable",
    "VerticalPartition",
    "decode",
    "decode_cells",
    "encode",
    "from_arrays",
    "from_pandas",
    "load",
    "load_images",
    "load_table",
    "split_holdout",
    "split_horizontal",
    "split_images",
    "split_vertical",
]

from fedabm.common.bounds import Bounds as Bounds
from fedabm.common.bounds import bounds_of as bounds_of
from fedabm.common.bounds import given as given
from fedabm.common.bounds import within as within
from fedabm.common.errors import (
    MOST as MOST,
)
from fedabm.common.errors import (
    MOST_COUNTED as MOST_COUNTED,
)
from fedabm.common.errors import (
    check_count as check_count,
)
from fedabm.common.errors import (
    check_number as check_number,
)
from fedabm.common.errors import (
    check_positive as check_positive,
)
from fedabm.common.errors import (
    check_range as check_range,
)
from fedabm.common.errors import (
    check_whole as check_whole,
)
from fedabm.common.errors import (
    nearest as nearest,
)

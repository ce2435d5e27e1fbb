"""The series are those that pandas and statsmodels read from the same files."""

import numpy as np
import pytest
from statsmodels.datasets import co2, elnino

from lessonlib.measured_series import mauna_loa, mauna_loa_weeks, pacific, rows_of


def test_the_weeks_are_those_of_statsmodels():
    months, ppm = mauna_loa_weeks()
    frame = co2.load_pandas().data
    np.testing.assert_array_equal(ppm, frame["co2"].to_numpy())
    np.testing.assert_array_equal(months, 12 * (frame.index.year - 1958) + frame.index.month - 1)


def test_the_monthly_means_equal_pandas():
    frame = co2.load_pandas().data["co2"]
    expected = frame.resample("MS").mean().to_numpy()
    assert len(expected) == 526
    np.testing.assert_allclose(mauna_loa(), expected, rtol=1e-12)


def test_the_ocean_is_that_of_statsmodels():
    frame = elnino.load_pandas().data
    np.testing.assert_array_equal(pacific(), frame.to_numpy()[:, 1:].ravel())
    assert len(pacific()) == 732


def test_a_missing_file_says_what_to_install():
    with pytest.raises(FileNotFoundError, match="requirements.txt"):
        rows_of("no_such_series")

"""The drawing of a copy row."""

import matplotlib.pyplot as plt
import pytest

from lessonlib.drawings_race import draw_copy_row


def test_drawing_names_answer_and_steps():
    fig, axes = plt.subplots()
    draw_copy_row(axes, [7, 19, 22])
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("7") == 2 and texts.count("0") == 1 and any("3 steps" in text for text in texts)
    plt.close(fig)
    for body in ([1], list(range(9))):
        with pytest.raises(ValueError, match=f"body has {len(body)}"):
            draw_copy_row(axes, body)

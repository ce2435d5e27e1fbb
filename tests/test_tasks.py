"""Tasks against their definitions, row by row, and against ids recorded elsewhere."""

import math

import pytest
import torch

from lessonlib.tasks import (
    SEPARATOR,
    copy_task,
    draw_bodies,
    errors_by_offset,
    induction_task,
    next_token_task,
    reverse_task,
    share_still_to_come,
    with_random_answers,
)

ROW_0 = [7, 19, 19, 22, 13, 17, 11, 29, 10, 1, 24, 16, 9, 16, 20, 4]  # first body of 4096 under seed 11
TASKS = [copy_task, reverse_task, induction_task]


def seeded(seed: int = 11) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_copy_row_ids():
    task = copy_task(16, 4096, 32, generator=seeded())
    row = [*ROW_0, 0, *ROW_0]
    assert task.inputs[0].tolist() == row[:-1]
    assert task.targets[0].tolist() == row[1:]
    assert task.mask[0].tolist() == [0] * 16 + [1] * 16


@pytest.mark.parametrize(("make", "steps", "scored"), [(copy_task, 32, 16), (reverse_task, 32, 16), (induction_task, 31, 15)])
def test_shapes_and_scored_positions(make, steps, scored):
    task = make(16, 40, 32, generator=seeded())
    assert all(part.shape == (40, steps) and part.dtype == torch.int64 for part in task)
    assert (task.mask.sum(1) == scored).all()


@pytest.mark.parametrize("make", TASKS)
def test_every_task_has_the_same_bodies(make):
    assert torch.equal(make(5, 30, 12, generator=seeded()).inputs[:, :5], draw_bodies(5, 30, 12, seeded()))


@pytest.mark.parametrize("length", [1, 2, 7])
def test_copy_answer_stands_length_columns_back(length):
    task = copy_task(length, 50, 9, generator=seeded())
    for inputs, targets, mask in zip(*(part.tolist() for part in task), strict=True):
        for t in (t for t in range(2 * length) if mask[t]):
            assert targets[t] == inputs[t - length]
    assert (task.inputs[:, length] == SEPARATOR).all()


def test_reverse_answers_run_backwards():
    task = reverse_task(6, 50, 9, generator=seeded())
    assert torch.equal(task.targets[:, 6:], task.inputs[:, :6].flip(1))


def test_induction_answers_follow_the_earlier_occurrence():
    task = induction_task(6, 50, 9, generator=seeded())
    assert torch.equal(task.targets[:, 6:], task.inputs[:, 1:6])


@pytest.mark.parametrize("make", TASKS)
def test_targets_are_the_inputs_moved_by_one(make):
    task = make(8, 20, 32, generator=seeded())
    assert torch.equal(task.targets[:, :-1], task.inputs[:, 1:])


def test_body_never_holds_the_separator_and_uses_every_symbol():
    body = draw_bodies(10, 500, 6, seeded())
    assert sorted(set(body.flatten().tolist())) == [1, 2, 3, 4, 5]


def test_rows_selects_all_three_parts():
    task = copy_task(4, 10, 8, generator=seeded())
    part = task.rows(torch.tensor([7, 7, 2]))
    assert torch.equal(part.inputs, task.inputs[[7, 7, 2]])
    assert torch.equal(part.targets, task.targets[[7, 7, 2]]) and part.mask.shape == (3, 8)


@pytest.mark.parametrize(("arguments", "message"), [
    ((0, 4, 8), "length is 0"), ((4, 0, 8), "rows is 0"), ((4, 4, 1), "vocabulary is 1")])
@pytest.mark.parametrize("make", TASKS)
def test_bad_sizes(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(*arguments, generator=seeded())


@pytest.mark.parametrize(("shape", "first", "message"), [
    ((4,), 0, "sequence has shape"), ((3, 1), 0, "sequence has shape"), ((3, 5), 4, "first_scored is 4"), ((3, 5), -1, "first_scored is -1")])
def test_bad_sequences(shape, first, message):
    with pytest.raises(ValueError, match=message):
        next_token_task(torch.zeros(shape, dtype=torch.long), first)


def test_random_answers_change_only_what_is_fed_after_the_separator():
    task = copy_task(6, 400, 9, generator=seeded())
    fed = with_random_answers(task, 9, generator=seeded(1))
    assert torch.equal(fed.inputs[:, :7], task.inputs[:, :7])
    assert torch.equal(fed.targets, task.targets) and torch.equal(fed.mask, task.mask)
    agreement = (fed.inputs[:, 7:] == task.inputs[:, 7:]).float().mean().item()
    assert agreement == pytest.approx(1 / 8, abs=0.04) and (fed.inputs[:, 7:] != SEPARATOR).all()
    one = copy_task(1, 5, 9, generator=seeded())
    assert torch.equal(with_random_answers(one, 9, generator=seeded()).inputs, one.inputs)


def test_errors_by_brute_force():
    generator = seeded()
    body, answers = (torch.randint(1, 5, (30, 6), generator=generator) for _ in range(2))
    rows, asked = body.tolist(), answers.tolist()
    for offset, share in zip(range(-5, 6), errors_by_offset(answers, body), strict=True):
        cases = [(a[k], b[k + offset]) for a, b in zip(asked, rows, strict=True)
                 for k in range(6) if 0 <= k + offset < 6 and a[k] != b[k]]
        assert share == pytest.approx(sum(x == y for x, y in cases) / len(cases))
    cases = [a[k] in b[k + 1:] for a, b in zip(asked, rows, strict=True) for k in range(5) if a[k] != b[k]]
    assert share_still_to_come(answers, body) == pytest.approx(sum(cases) / len(cases))


def test_errors_one_token_ahead():
    body = torch.arange(1, 7).repeat(3, 1)
    answers = body.roll(-1, 1)
    assert errors_by_offset(answers, body)[6] == 1.0 and errors_by_offset(answers, body)[5] == 0.0
    assert share_still_to_come(answers, body) == 1.0
    assert math.isnan(share_still_to_come(body, body))


def test_errors_need_matching_shapes():
    for function in (errors_by_offset, share_still_to_come):
        with pytest.raises(ValueError, match="answers and body have shapes"):
            function(torch.ones(2, 3), torch.ones(2, 4))

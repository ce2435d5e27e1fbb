"""Padding, masks, packing, last states, buckets and streams, against PyTorch and against running each sequence alone."""

import math

import matplotlib.pyplot as plt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from browser import explorer_page

from lessonlib.drawings_training import draw_batches, draw_last_states, draw_streams, in_batches
from lessonlib.explorers import explorer_html
from lessonlib.packing import (
    checked_lengths,
    last_state,
    length_batches,
    masked_mean,
    pad,
    real_steps,
    run_packed,
    running,
    stream_chunks,
    wasted_share,
)

LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=5)
KINDS = [nn.RNN, nn.GRU, nn.LSTM]


def make(kind, *, bidirectional=False, layers=1, seed=0):
    torch.manual_seed(seed)
    return kind(2, 3, num_layers=layers, bidirectional=bidirectional, batch_first=True, dtype=torch.float64)


def draw(lengths, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(n, 2, generator=generator, dtype=torch.float64) for n in lengths]


def hidden(state):
    return state[0] if isinstance(state, tuple) else state


def top(state, bidirectional):
    """The last layer of h_n, directions side by side."""
    h_n = hidden(state)
    return torch.cat([h_n[-2], h_n[-1]], dim=1) if bidirectional else h_n[-1]


@given(LENGTHS, st.integers(0, 4))
def test_padding_and_mask_agree_with_pytorch_and_undo(lengths, extra):
    sequences = draw(lengths)
    padded, found = pad(sequences, steps=max(lengths) + extra, value=-7.0)
    assert found.tolist() == lengths
    assert torch.equal(padded[:, :max(lengths)], pad_sequence(sequences, batch_first=True, padding_value=-7.0))
    mask = real_steps(lengths, padded.shape[1])
    assert mask.sum(1).tolist() == lengths and torch.equal(padded[mask], torch.cat(sequences))
    assert (padded[~mask] == -7).all()


def test_padding_keeps_the_type_of_symbols():
    padded, _ = pad([torch.tensor([3, 4]), torch.tensor([5])], value=0)
    assert padded.dtype == torch.int64 and padded.tolist() == [[3, 4], [5, 0]]


@given(LENGTHS)
def test_running_sequences_are_the_batch_sizes_of_pytorch(lengths):
    packed = pack_padded_sequence(pad(draw(lengths))[0], torch.tensor(lengths), batch_first=True, enforce_sorted=False)
    assert torch.equal(running(lengths), packed.batch_sizes)
    assert int(running(lengths).sum()) == len(packed.data) == sum(lengths)


def test_masked_mean_ignores_whatever_stands_on_padding():
    values = torch.tensor([[1.0, 2, math.nan], [6, math.inf, math.nan]])
    assert masked_mean(values, real_steps([2, 1], 3)).item() == 3
    channels = torch.stack([values, 10 * values], dim=-1)
    assert masked_mean(channels, real_steps([2, 1], 3)).tolist() == [3, 30]


def test_masked_mean_has_no_gradient_on_padding():
    values = torch.ones(2, 3, requires_grad=True)
    masked_mean(values, real_steps([2, 1], 3)).backward()
    assert torch.allclose(values.grad, torch.tensor([[1, 1, 0], [1, 0, 0.0]]) / 3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("lengths", [[4], [5, 2], [1, 6, 3], [2, 2, 7, 1]])
def test_packed_run_equals_each_sequence_alone(kind, bidirectional, layers, lengths):
    """Outputs and states of a packed batch are those of its sequences run one at a time, without padding."""
    layer, sequences = make(kind, bidirectional=bidirectional, layers=layers), draw(lengths)
    outputs, state = run_packed(layer, pad(sequences)[0], lengths)
    for b, sequence in enumerate(sequences):
        alone, alone_state = layer(sequence[None])
        assert torch.allclose(outputs[b, :lengths[b]], alone[0], atol=1e-12, rtol=0)
        assert not outputs[b, lengths[b]:].any()
        assert torch.allclose(hidden(state)[:, b], hidden(alone_state)[:, 0], atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_last_state_equals_h_n(kind, bidirectional):
    """The last column was taken for the summary of a bidirectional layer, whose backward half has read one step there."""
    layer, lengths = make(kind, bidirectional=bidirectional, layers=2), [3, 6, 1]
    x = pad(draw(lengths))[0]
    outputs, state = run_packed(layer, x, lengths)
    assert torch.equal(last_state(outputs, lengths, bidirectional=bidirectional), top(state, bidirectional))
    full, full_state = layer(x)  # no padding as far as the layer knows: every row is 6 long
    assert torch.equal(last_state(full, [6] * 3, bidirectional=bidirectional), top(full_state, bidirectional))
    if bidirectional:
        assert (full[:, -1, 3:] - full_state[0][-1] if kind is nn.LSTM else full[:, -1, 3:] - full_state[-1]).abs().max() > 0.01
    else:  # padded, one direction: the layer's own h_n has read padding, the gathered state has not
        assert torch.allclose(last_state(full, lengths), top(state, False), atol=1e-12, rtol=0)
        assert (top(full_state, False) - top(state, False)).abs().max() > 0.01


def test_backward_summary_stands_at_the_first_step():
    """Readers doubt where the backward half ends after packing: at index 0, whatever the length."""
    layer, lengths = make(nn.GRU, bidirectional=True), [3, 6, 1]
    outputs, h_n = run_packed(layer, pad(draw(lengths))[0], lengths)
    assert torch.equal(outputs[:, 0, 3:], h_n[1])


@pytest.mark.parametrize("bidirectional", [False, True])
@settings(max_examples=20, deadline=None)
@given(lengths=LENGTHS, more=st.integers(1, 6), value=st.sampled_from([0.0, 5.0, -100.0]))
def test_more_padding_changes_nothing(bidirectional, lengths, more, value):
    """Padded steps changed the final state: append k of any value, and every valid output and the final state stay."""
    layer, sequences = make(nn.LSTM, bidirectional=bidirectional), draw(lengths)
    steps = max(lengths)
    outputs, state = run_packed(layer, pad(sequences)[0], lengths)
    wider, wider_state = run_packed(layer, pad(sequences, steps=steps + more, value=value)[0], lengths)
    assert torch.equal(wider[:, :steps], outputs) and not wider[:, steps:].any()
    assert all(torch.equal(a, b) for a, b in zip(state, wider_state, strict=True))
    assert torch.equal(last_state(wider, lengths, bidirectional=bidirectional), last_state(outputs, lengths, bidirectional=bidirectional))
    if not bidirectional:  # one direction is causal: valid outputs of the unpacked run stay as well
        unpacked = layer(pad(sequences, steps=steps + more, value=value)[0])[0]
        assert torch.allclose(last_state(unpacked, lengths), last_state(outputs, lengths), atol=1e-12, rtol=0)


def test_order_of_the_batch_and_a_given_state_are_kept():
    layer, lengths, order = make(nn.LSTM), [2, 5, 3], torch.tensor([2, 0, 1])
    x = pad(draw(lengths))[0]
    start = tuple(torch.randn(1, 3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(i)) for i in (3, 4))
    outputs, state = run_packed(layer, x, lengths, start)
    moved, moved_state = run_packed(layer, x[order], torch.tensor(lengths)[order], tuple(s[:, order] for s in start))
    assert torch.allclose(moved, outputs[order], atol=1e-14, rtol=0)
    assert torch.allclose(moved_state[1], state[1][:, order], atol=1e-14, rtol=0)
    alone = layer(x[:1, :2], tuple(s[:, :1].contiguous() for s in start))[1]
    assert torch.allclose(alone[0], state[0][:, :1], atol=1e-14, rtol=0)


def test_gradient_of_a_packed_loss_is_that_of_the_sequences_alone():
    layer, lengths = make(nn.GRU, bidirectional=True), [4, 1, 6]
    sequences = draw(lengths)
    mask = real_steps(lengths)
    masked_mean(run_packed(layer, pad(sequences, value=9.0)[0], lengths)[0].sum(-1), mask).backward()
    packed = [p.grad.clone() for p in layer.parameters()]
    layer.zero_grad()
    (sum(layer(s[None])[0].sum() for s in sequences) / sum(lengths)).backward()
    assert all(torch.allclose(p.grad, g, atol=1e-12, rtol=0) for p, g in zip(layer.parameters(), packed, strict=True))


def test_wasted_share_by_hand_and_without_differences():
    assert wasted_share([[50, 120, 200]]) == pytest.approx(230 / 600)
    assert wasted_share([[4, 4], [7]]) == 0
    assert wasted_share([[1, 3], [2]]) == pytest.approx(1 - 6 / 8)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=40), st.integers(1, 9), st.integers(1, 6))
def test_batches_hold_every_sequence_once(lengths, batch_size, pool):
    batches = length_batches(lengths, batch_size, generator=torch.Generator().manual_seed(0), pool=pool)
    assert sorted(torch.cat(batches).tolist()) == list(range(len(lengths)))
    assert max(map(len, batches)) <= batch_size
    assert len(batches) == math.ceil(len(lengths) / batch_size)


def test_a_pool_as_large_as_the_data_wastes_least_and_seeds_decide_the_order():
    lengths = torch.randint(1, 200, (240,), generator=torch.Generator().manual_seed(5))
    def waste(pool, seed=0):
        batches = length_batches(lengths, 16, generator=torch.Generator().manual_seed(seed), pool=pool)
        return wasted_share([lengths[b] for b in batches])
    in_order = lengths.sort().values.split(16)
    assert waste(1) > waste(4) > waste(15) == pytest.approx(wasted_share(in_order))
    one, two, other = (length_batches(lengths, 16, generator=torch.Generator().manual_seed(s), pool=15) for s in (1, 1, 2))
    assert all(map(torch.equal, one, two)) and not all(map(torch.equal, one, other))


def test_chunks_continue_their_row_and_carry_the_state():
    stream = draw([27])[0]
    chunks = list(stream_chunks(stream, 2, 4))
    assert [c.shape for c in chunks] == [(2, 4, 2)] * 3
    assert torch.equal(torch.cat(chunks, dim=1), stream[:26].unflatten(0, (2, 13))[:, :12])
    layer, state, outputs = make(nn.LSTM), None, []
    for chunk in chunks:
        out, state = layer(chunk, state)
        outputs.append(out)
    whole, end = layer(torch.cat(chunks, dim=1))
    assert torch.allclose(torch.cat(outputs, dim=1), whole, atol=1e-13, rtol=0) and torch.allclose(state[1], end[1], atol=1e-13, rtol=0)


X, GRU = torch.zeros(2, 4, 2, dtype=torch.float64), make(nn.GRU)
BAD = {
    "lengths": [lambda: checked_lengths([]), lambda: checked_lengths([2, 0]), lambda: checked_lengths([1.5]), lambda: checked_lengths([[1, 2]]),
                lambda: checked_lengths([True, False]), lambda: real_steps([5], 4), lambda: run_packed(GRU, X, [4, 5]), lambda: run_packed(GRU, X, [4]),
                lambda: last_state(X, [4]), lambda: last_state(X, [4, 5]), lambda: pad([X[0]], steps=3), lambda: pad([X[0, :0]]), lambda: running([0])],
    "sequences": [lambda: pad([]), lambda: pad([torch.zeros(3, 2), torch.zeros(3, 1)]), lambda: pad([torch.tensor(1.0)])],
    "mask": [lambda: masked_mean(X, torch.ones(2, 3)), lambda: masked_mean(X, torch.zeros(2, 4))],
    "batch_first": [lambda: run_packed(nn.GRU(2, 3), X, [4, 4]), lambda: run_packed(GRU, X[0], [4, 4])],
    "outputs": [lambda: last_state(X[0], [2]), lambda: last_state(torch.zeros(1, 2, 3), [2], bidirectional=True)],
    "batches": [lambda: wasted_share([])],
    "batch_size": [lambda: length_batches([3], 0, generator=torch.Generator())],
    "pool": [lambda: length_batches([3], 1, generator=torch.Generator(), pool=0)],
    "rows": [lambda: stream_chunks(torch.zeros(9), 0, 2)],
    "chunk": [lambda: stream_chunks(torch.zeros(9), 1, 0)],
    "stream": [lambda: stream_chunks(torch.zeros(9), 3, 4)],
}


@pytest.mark.parametrize("name, call", [(name, call) for name, calls in BAD.items() for call in calls])
def test_bad_input_names_the_argument(name, call):
    with pytest.raises(ValueError, match=name):
        call()


# The drawings and the explorer ------------------------------------------------------------------------------------

def test_batches_of_the_drawing_are_cut_in_order_or_longest_first():
    lengths = [3, 11, 5, 8, 2, 5]
    assert in_batches(lengths, 2, False) == [[0, 1], [2, 3], [4, 5]]
    assert in_batches(lengths, 4, True) == [[1, 3, 2, 5], [0, 4]]


def test_a_drawing_shows_every_real_step_and_the_batch_sizes():
    figure = draw_batches([3, 2, 6], batch_size=3)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert [texts.count(name) for name in "ABC"] == [1 + 2 * 3, 1 + 2 * 2, 1 + 2 * 6]  # label, padded, packed
    assert texts.count("0") == 2 * (18 - 11) and texts[-3:] == ["real steps: 11", "computed if padded: 18", "wasted: 39%"]
    plt.close(figure)
    for drawing in (draw_last_states(), draw_streams()):
        plt.close(drawing)


@pytest.mark.parametrize("name, call", [("steps", lambda: draw_batches([3, 4], batch_size=2, steps=3)), ("length", lambda: draw_last_states(5, 5)),
                                        ("chunks", lambda: draw_streams(2, 1)), ("batch_size", lambda: draw_batches([3], batch_size=0))])
def test_drawings_refuse_what_they_cannot_draw(name, call):
    with pytest.raises(ValueError, match=name):
        call()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page with two explorers and the script, opened on a phone's width without a network."""
    start = {"lengths": [3, 10, 5, 7, 2, 6], "longest": 10, "sizes": [2, 3, 6], "size": 2, "by_length": False}
    element = explorer_html("padding", start, draw_batches(start["lengths"], batch_size=2, steps=10), "Six sequences in batches of two.",
                            "Explorer", controls="27rem")
    with explorer_page(element + element, "padding", tmp_path_factory.mktemp("padding")) as opened:
        yield opened


def reading(page):
    return page.locator(".explorer-reading").first.inner_text()


def test_the_explorer_fits_has_names_and_moves_nothing(page):
    assert page.faults == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert abs(page.evaluate("document.getElementById('after').offsetTop - window.before")) <= 4
    assert page.locator("select, input").count() == 16
    for control in page.locator("select, input").all():
        assert page.locator(f'label[for="{control.get_attribute("id")}"]').inner_text().strip()
    ids = page.eval_on_selector_all("[id]", "nodes => nodes.map(node => node.id)")
    assert len(ids) == len(set(ids))


def test_the_explorer_counts_as_the_library_does(page):
    page.reload()
    lengths = [3, 10, 5, 7, 2, 6]
    for by_length in (False, True):
        for size in (2, 3, 6):
            page.locator("select").first.select_option(str(size))
            page.locator("input[type=checkbox]").first.set_checked(by_length)
            batches = [[lengths[row] for row in rows] for rows in in_batches(lengths, size, by_length)]
            computed = sum(len(b) * max(b) for b in batches)
            assert f"Padding computes {computed} steps for 33 real steps: {wasted_share(batches):.0%} wasted." in reading(page)
            for batch in batches:
                assert f"padded to {max(batch)} steps; batch_sizes {' '.join(map(str, running(batch).tolist()))}." in reading(page)


def test_keyboard_changes_a_length_the_drawing_and_its_description(page):
    page.reload()
    first = page.locator("input[type=number]").first
    first.focus()
    page.keyboard.press("ArrowUp")
    assert first.input_value() == "4" and "for 34 real steps" in reading(page)
    assert page.locator("svg title").first.text_content().endswith(reading(page))
    first.fill("99")  # beyond what may be given: the largest allowed, written back on leaving the field
    page.keyboard.press("Tab")
    assert first.input_value() == "10" and "for 40 real steps" in reading(page)
    first.fill("")  # half-typed: nothing changes
    assert "for 40 real steps" in reading(page)
    assert page.locator(".explorer-reading").nth(1).inner_text() != reading(page)  # the second explorer stays as it was
    assert page.faults == []

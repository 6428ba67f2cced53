"""Records whisper.cpp, as PyPI's pywhispercpp brings it with a ggml of its own, inside the Python that
has loaded it: record_whisper.py PACKAGES MODEL [TRACE]. Prints what it recognises. MODEL is made when
it is not there: a whisper of made-up weights, smaller than any real one, in the format that
whisper.cpp reads. With "" as PACKAGES that is all.
"""

import os
import random
import struct
import sys

MELS, FFT, VOCABULARY = 80, 201, 51864
STATE, HEADS, LAYERS = 64, 1, 4
AUDIO, TEXT = 1500, 448
F32, F16 = 0, 1


def halves(n):
    """n weights as 16-bit floats, small and of any sign."""
    block = b"".join(struct.pack("<e", random.uniform(-0.1, 0.1)) for _ in range(4096))
    return (block * (n // 4096 + 1))[: 2 * n]


def floats(n, value):
    return struct.pack(f"<{n}f", *([value] * n))


def linear(name, rows, columns, bias=True):
    yield f"{name}.weight", [columns, rows], F16
    if bias:
        yield f"{name}.bias", [rows], F32


def norm(name):
    yield f"{name}.weight", [STATE], F32
    yield f"{name}.bias", [STATE], F32


def attention(name):
    yield from norm(f"{name}_ln")
    for part, bias in (("query", True), ("key", False), ("value", True), ("out", True)):
        yield from linear(f"{name}.{part}", STATE, STATE, bias)


def block(name, cross):
    yield from attention(f"{name}.attn")
    if cross:
        yield from attention(f"{name}.cross_attn")
    yield from norm(f"{name}.mlp_ln")
    yield from linear(f"{name}.mlp.0", 4 * STATE, STATE)
    yield from linear(f"{name}.mlp.2", STATE, 4 * STATE)


def tensors():
    yield "encoder.positional_embedding", [STATE, AUDIO], F32
    yield "encoder.conv1.weight", [3, MELS, STATE], F16
    yield "encoder.conv1.bias", [1, STATE], F32
    yield "encoder.conv2.weight", [3, STATE, STATE], F16
    yield "encoder.conv2.bias", [1, STATE], F32
    yield from norm("encoder.ln_post")
    yield "decoder.positional_embedding", [STATE, TEXT], F32
    yield "decoder.token_embedding.weight", [STATE, VOCABULARY], F16
    yield from norm("decoder.ln")
    for layer in range(LAYERS):
        yield from block(f"encoder.blocks.{layer}", False)
        yield from block(f"decoder.blocks.{layer}", True)


def make(path):
    random.seed(1)
    with open(path + ".part", "wb") as out:
        out.write(struct.pack("<I", 0x67676D6C))
        sizes = [VOCABULARY, AUDIO, STATE, HEADS, LAYERS, TEXT, STATE, HEADS, LAYERS, MELS, 1]
        out.write(struct.pack("<11i", *sizes))
        out.write(struct.pack("<2i", MELS, FFT) + floats(MELS * FFT, 1 / FFT))
        out.write(struct.pack("<i", VOCABULARY - 1607))
        for token in range(VOCABULARY - 1607):
            word = f" {token}".encode() if token else b" "  # which whisper.cpp looks for
            out.write(struct.pack("<I", len(word)) + word)
        for name, ne, kind in tensors():
            n = 1
            for dimension in ne:
                n *= dimension
            out.write(struct.pack("<3i", len(ne), len(name), kind) + struct.pack(f"<{len(ne)}i", *ne))
            out.write(name.encode())
            ones = name.endswith(("ln.weight", "ln_post.weight"))
            out.write(halves(n) if kind == F16 else floats(n, 1.0 if ones else 0.01))
    os.rename(path + ".part", path)


def main():
    packages, model, *trace = sys.argv[1:]
    sys.path.insert(0, packages)
    if not os.path.exists(model):
        make(model)
    if not packages:
        return
    import _pywhispercpp as whisper
    import numpy

    context = whisper.whisper_init_from_file_with_params(model, whisper.whisper_context_default_params())
    assert context, "the model is refused"

    def recognise():
        parameters = whisper.whisper_full_default_params(whisper.whisper_sampling_strategy.WHISPER_SAMPLING_GREEDY)
        parameters.n_threads = 2
        parameters.max_tokens = 8
        parameters.single_segment = True
        parameters.temperature_inc = 0
        parameters.print_progress = False
        sound = numpy.sin(numpy.arange(16000 * 2) / 40).astype(numpy.float32)
        assert whisper.whisper_full(context, parameters, sound, len(sound)) == 0
        n = whisper.whisper_full_n_segments(context)
        return " ".join(str(whisper.whisper_full_get_segment_text(context, i)) for i in range(n))

    print("once", recognise())
    if trace:
        import tensortrace as tt

        with tt.record(trace[0]) as rec:
            print("more", recognise())
        print(rec.trace.summary["batches"], *rec.unseen, file=sys.stderr)
    else:
        print("more", recognise())
    print("last", recognise())


main()

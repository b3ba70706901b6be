"""tf_train.py - TensorFlow: training steps with Adam of a transformer's layers written by hand (`hand`, the default), of a convolution net by Keras (`keras`).

--jit compiles the step by XLA; --eager runs it operator by operator; --mirrored trains Keras's on all GPUs; --limit and --growth are settings of TensorFlow's allocator. Says what TensorFlow
itself counted.
"""
import argparse
import contextlib

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("what", nargs="?", default="hand", choices=["hand", "keras"])
parser.add_argument("--jit", action="store_true")
parser.add_argument("--eager", action="store_true")
parser.add_argument("--mirrored", action="store_true")
parser.add_argument("--layers", type=int, default=4)
parser.add_argument("--width", type=int, default=512)
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--context", type=int, default=256)
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--limit", type=int, help="MiB that TensorFlow's allocator may take")
parser.add_argument("--growth", action="store_true")
parser.add_argument("--halve", action="store_true", help="go on with half the batch while memory is refused")
options = parser.parse_args()
for gpu in tf.config.list_physical_devices("GPU"):
    if options.growth:
        tf.config.experimental.set_memory_growth(gpu, True)
    if options.limit:
        tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=options.limit)])


def hand():
    """A Python function that does one step, and the tensors of a batch."""
    width, heads = options.width, 8
    weights = []

    def weight(*shape):
        weights.append(tf.Variable(tf.zeros(shape)))
        return weights[-1]

    layers = [[weight(width, 3 * width), weight(width, width), weight(width, 4 * width), weight(4 * width, width)] for _ in range(options.layers)]
    mean, square = ([tf.Variable(tf.zeros_like(w)) for w in weights] for _ in range(2))

    def forward(x):
        for qkv, out, up, down in layers:
            q, k, v = (tf.transpose(tf.reshape(t, [-1, options.context, heads, width // heads]), [0, 2, 1, 3]) for t in tf.split(x @ qkv, 3, axis=-1))
            attention = tf.nn.softmax(q @ tf.transpose(k, [0, 1, 3, 2]) / (width // heads) ** 0.5) @ v
            x += tf.reshape(tf.transpose(attention, [0, 2, 1, 3]), [-1, options.context, width]) @ out
            x += tf.nn.relu(x @ up) @ down
        return tf.reduce_mean(x * x)

    def step(x):
        with tf.GradientTape() as tape:
            loss = forward(x)
        for w, m, s, gradient in zip(weights, mean, square, tape.gradient(loss, weights)):
            m.assign(0.9 * m + 0.1 * gradient)
            s.assign(0.99 * s + 0.01 * gradient * gradient)
            w.assign_sub(1e-4 * m / (tf.sqrt(s) + 1e-8))
        return loss

    return step, [tf.ones([options.batch, options.context, width])]


def run_hand():
    step, batch = hand()
    if not options.eager:
        step = tf.function(step, jit_compile=options.jit)
    for _ in range(options.steps):
        loss = step(*batch)
    return float(loss)


def run_keras():
    layers = tf.keras.layers
    with tf.distribute.MirroredStrategy().scope() if options.mirrored else contextlib.nullcontext():
        model = tf.keras.Sequential([
            layers.Input([64, 64, 3]), layers.Conv2D(64, 3, padding="same"), layers.BatchNormalization(), layers.ReLU(), layers.MaxPooling2D(),
            layers.Conv2D(128, 3, padding="same"), layers.BatchNormalization(), layers.ReLU(), layers.GlobalAveragePooling2D(), layers.Dense(10)])
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("adam", loss, jit_compile=options.jit, run_eagerly=options.eager)
    images, labels = tf.zeros([options.batch * options.steps, 64, 64, 3]), tf.zeros([options.batch * options.steps], tf.int32)
    return model.fit(images, labels, batch_size=options.batch, verbose=0).history["loss"][0]


loss = None
while loss is None:
    try:
        loss = run_keras() if options.what == "keras" else run_hand()
    except tf.errors.ResourceExhaustedError:
        if not options.halve:
            raise
        options.batch //= 2
memory = tf.config.experimental.get_memory_info("GPU:0")
print("loss", loss, "current", memory["current"], "peak", memory["peak"])

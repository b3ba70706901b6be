"""asks_values.py - memory that follows from what is read from the GPU: the size of a mask's result, an integer, a truth value.

    asks_values.py cupy|jax|tensorflow
"""
import sys

if sys.argv[1] == "cupy":
    import cupy as np
elif sys.argv[1] == "jax":
    import jax.numpy as np
else:
    import tensorflow as tf
if sys.argv[1] == "tensorflow":
    if tf.reduce_any(tf.range(1000, dtype=tf.float32) > 0.1):
        print(tf.zeros(100000000).shape)
else:
    x = np.arange(1000, dtype=np.float32)
    print(x[x > 0.5].shape)
    print(np.zeros((int(np.max(x.astype(np.int32))), 1000000), dtype=np.float32).shape)
    if bool((x > 0.1).any()):
        print(np.zeros(100000000, dtype=np.float32).shape)

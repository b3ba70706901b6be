"""paddle_train.py - PaddlePaddle: training steps of a transformer's layers, or with `conv` of a convolution net, with Adam and automatic mixed precision."""
import sys

import paddle
from paddle import nn

if sys.argv[1:] == ["conv"]:
    model = nn.Sequential(
        nn.Conv2D(3, 64, 3, padding=1), nn.BatchNorm2D(64), nn.ReLU(), nn.MaxPool2D(2), nn.Conv2D(64, 128, 3, padding=1), nn.BatchNorm2D(128), nn.ReLU(),
        nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(128, 10))
    x = paddle.randn([32, 3, 64, 64])
else:
    model = nn.Sequential(*[nn.TransformerEncoderLayer(512, 8, 2048) for _ in range(4)], nn.Linear(512, 10))
    x = paddle.randn([8, 256, 512])
optimizer = paddle.optimizer.AdamW(learning_rate=1e-4, parameters=model.parameters())
scaler = paddle.amp.GradScaler()
for _ in range(3):
    with paddle.amp.auto_cast():
        loss = model(x).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.clear_grad()
print("loss", float(loss), "peak", paddle.device.cuda.max_memory_allocated(), paddle.device.cuda.max_memory_reserved())

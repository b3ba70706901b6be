"""packages.py NAME: what people train with, as they write it; tests/cli/long-dry-packages.sh runs all.

Models of the packages transformers, timm, torchvision, diffusers, lightning, peft, torchaudio and bitsandbytes, made from their configurations,
small, without weights; and what people do around a step.  Each prints PyTorch's own peak.
"""
import sys

import torch


def train(model, step, optimizer=torch.optim.AdamW, steps=2):
    optimizer = optimizer([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    for _ in range(steps):
        step(model).backward()
        optimizer.step()
        optimizer.zero_grad()


def tokens(n, length, words=30000):
    return torch.randint(0, words, (n, length), device='cuda')


def language(model, n=2, length=512):
    x = tokens(n, length, 1000)
    train(model, lambda m: m(input_ids=x, labels=x).loss)


def small_llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(hidden_size=1024, intermediate_size=2752, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=4)).to('cuda', torch.bfloat16)


def llama():
    model = small_llama()
    model.gradient_checkpointing_enable()
    language(model)


def generate(**how):
    with torch.no_grad():
        small_llama().eval().generate(tokens(2, 128), max_new_tokens=32, **how)


def beams():
    generate(num_beams=3)


def trainer():
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    rows = [{'input_ids': torch.arange(128), 'attention_mask': torch.ones(128, dtype=torch.long), 'labels': i % 2} for i in range(64)]
    options = TrainingArguments(output_dir='trainer', per_device_train_batch_size=16, max_steps=3, fp16=True, report_to=[], save_strategy='no', disable_tqdm=True)
    Trainer(model=BertForSequenceClassification(BertConfig()), args=options, train_dataset=rows).train()


def mixtral():
    from transformers import MixtralConfig, MixtralForCausalLM

    language(MixtralForCausalLM(MixtralConfig(hidden_size=512, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4, num_local_experts=4)).cuda().bfloat16())


def assisted():
    with torch.no_grad():
        small_llama().eval().generate(tokens(1, 64), max_new_tokens=24, do_sample=False, assistant_model=small_llama().eval())


def lookup():
    with torch.no_grad():
        small_llama().eval().generate(tokens(1, 64), max_new_tokens=24, do_sample=False, prompt_lookup_num_tokens=3)


def whisper():
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    model = WhisperForConditionalGeneration(WhisperConfig()).cuda().half()
    sound = torch.randn(2, 80, 3000, device='cuda', dtype=torch.half)
    model.generate(sound, max_new_tokens=20)
    train(model, lambda m: m(input_features=sound, labels=tokens(2, 50)).loss)


def llava():
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

    vision = CLIPVisionConfig(hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4, image_size=224, patch_size=14)
    text = LlamaConfig(hidden_size=512, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8, vocab_size=32064)
    model = LlavaForConditionalGeneration(LlavaConfig(vision_config=vision, text_config=text, image_token_index=32000)).to('cuda', torch.bfloat16)
    words, image = torch.cat([torch.full((1, 256), 32000, device='cuda'), tokens(1, 20)], 1), torch.randn(1, 3, 224, 224, device='cuda', dtype=torch.bfloat16)
    train(model, lambda m: m(input_ids=words, pixel_values=image, labels=words, attention_mask=torch.ones_like(words)).loss)


def peft():
    from peft import LoraConfig, get_peft_model
    from transformers import GPT2Config, GPT2LMHeadModel

    language(get_peft_model(GPT2LMHeadModel(GPT2Config()), LoraConfig(r=8, target_modules=['c_attn'], fan_in_fan_out=True)).cuda())


def images(name):
    import timm

    model = timm.create_model(name, num_classes=100).cuda().to(memory_format=torch.channels_last)

    def step(m):
        with torch.autocast('cuda'):
            return torch.nn.functional.cross_entropy(m(torch.randn(16, 3, 224, 224, device='cuda')), tokens(1, 16, 100)[0])

    train(model, step, torch.optim.SGD)


def convnext():
    images('convnext_tiny')


def swin():
    images('swin_tiny_patch4_window7_224')


def detection():
    import torchvision

    model = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=91).cuda().train()
    boxes = {'boxes': torch.tensor([[10.0, 10, 200, 200], [50, 60, 300, 400]], device='cuda'), 'labels': torch.tensor([1, 2], device='cuda')}
    train(model, lambda m: sum(m([torch.rand(3, 600, 800, device='cuda')] * 2, [boxes] * 2).values()), torch.optim.SGD)


def diffusion():
    from diffusers import DDPMScheduler, UNet2DConditionModel

    model = UNet2DConditionModel(sample_size=32, block_out_channels=(64, 128, 256, 256), cross_attention_dim=256, attention_head_dim=8).cuda()

    def step(m):
        clean, noise, when = torch.randn(2, 4, 32, 32, device='cuda'), torch.randn(2, 4, 32, 32, device='cuda'), tokens(1, 2, 1000)[0]
        return torch.nn.functional.mse_loss(m(DDPMScheduler().add_noise(clean, noise, when), when, torch.randn(2, 77, 256, device='cuda')).sample, noise)

    train(model, step)


def lightning():
    import lightning as L

    class Model(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True), 4)

        def training_step(self, batch, _):
            return self.net(batch[0]).pow(2).mean()

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    rows = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 128, 256)), batch_size=16, num_workers=2, pin_memory=True)
    L.Trainer(accelerator='gpu', devices=1, precision='16-mixed', max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False).fit(Model(), rows)


def audio():
    import torchaudio

    sound = torch.randn(2, 32000, device='cuda')
    torchaudio.transforms.MelSpectrogram(16000, n_fft=1024).cuda()(sound)
    train(torchaudio.models.wav2vec2_base().cuda(), lambda m: m(sound)[0].mean())


def layers(n=4, width=1024):
    return torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(n)])


def profiled():
    from torch.profiler import ProfilerActivity, profile

    model = layers().cuda()
    torch.cuda.memory._record_memory_history()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True, with_stack=True) as profiler:
        train(model, lambda m: m(torch.randn(64, 1024, device='cuda')).sum())
    profiler.export_chrome_trace('trace.json')
    profiler.key_averages().table(sort_by='cuda_time_total')
    torch.cuda.memory._dump_snapshot('own.pickle')
    torch.cuda.memory_summary()


def emptied():
    for i in range(1, 20):
        torch.empty(i << 24, device='cuda')
        if i % 3 == 0:
            torch.cuda.empty_cache()


def resumed():
    model = layers().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(8, 1024, device='cuda')).sum().backward()
    optimizer.step()
    torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict()}, 'checkpoint.pt')
    saved = torch.load('checkpoint.pt', map_location='cuda')
    model.load_state_dict(saved['model'])
    optimizer.load_state_dict(saved['optimizer'])
    optimizer.step()


def scripted():
    @torch.jit.script
    def noisy(x: torch.Tensor):
        return x + torch.zeros(1024, 1024, device=x.device) + torch.randn(1024, 1024, device=x.device)

    noisy(torch.ones(1024, 1024, device='cuda'))
    torch.compile(lambda: torch.nn.init.normal_(torch.empty(1024, 1024)), fullgraph=True, backend='aot_eager')()
    torch.vmap(lambda x: torch.randn(1024, 1024) * x, randomness='different')(torch.ones(2))


def paged():
    import bitsandbytes

    model = layers(2, 4096).cuda()
    train(model, lambda m: m(torch.randn(8, 4096, device='cuda')).sum(), bitsandbytes.optim.PagedAdamW32bit)


def nf4():
    from bitsandbytes import nn

    model = torch.nn.Sequential(*[nn.Linear4bit(2048, 2048, compute_dtype=torch.bfloat16, quant_type='nf4') for _ in range(2)]).cuda()
    model(torch.randn(4, 128, 2048, device='cuda', dtype=torch.bfloat16, requires_grad=True)).sum().backward()


def policy():
    model = torch.nn.Sequential(torch.nn.Linear(8, 256), torch.nn.Tanh(), torch.nn.Linear(256, 4)).cuda()

    def step(m):
        chosen = torch.distributions.Categorical(logits=m(torch.randn(512, 8, device='cuda')))
        return -chosen.log_prob(chosen.sample()).mean()

    train(model, step)


def checked():
    x = torch.randn(64, 64, device='cuda')
    assert torch.linalg.eig(x)[0].shape == torch.linalg.eigvals(x).shape == (64,)
    x.repeat_interleave(torch.arange(64, device='cuda'), 0)


def solved():
    x = torch.randn(64, 64, device='cuda')
    assert torch.lobpcg(x @ x.T, k=3, niter=3)[1].shape == (64, 3)
    torch.linalg.matrix_exp(torch.randn(8, 512, 512, device='cuda'))  # reads how often it squares which, of memory that it cleared


globals()[sys.argv[1]]()
torch.cuda.synchronize()
print('peak', torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())

"""attention_kinds.py - scaled_dot_product_attention forward and backward by every backend that PyTorch has, each forced; a backend that is missing says so."""
import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

refused = []
for name in ("MATH", "EFFICIENT_ATTENTION", "FLASH_ATTENTION", "CUDNN_ATTENTION"):
    for causal, masked in ((False, False), (True, False), (False, True)):
        q, k, v = (torch.randn(4, 16, 1024, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
        mask = torch.zeros(1024, 1024, device="cuda", dtype=torch.bfloat16) if masked else None
        try:
            with sdpa_kernel(getattr(SDPBackend, name)):
                F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal).sum().backward()
            torch.cuda.synchronize()
        except RuntimeError as error:
            refused.append(f"{name} causal={causal} mask={masked}: {str(error).splitlines()[0]}")
        del q, k, v, mask
q = torch.randn(4, 16, 1, 64, device="cuda", dtype=torch.float16)
k, v = (torch.randn(4, 4, 777, 64, device="cuda", dtype=torch.float16) for _ in range(2))
F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
print("\n".join(refused) or "all ran")

"""What is put into every instance, and what is asked about it."""

from pathlib import Path

from acceptance.pdf import make_pdf

PUMPS = """---
title: Pump guide
tags: [泵, pump]
site: north
---
# Pump guide

The blue pump must be oiled every 40 days. Use no other oil than HX-7.

## Batteries

Rechargeable cells must not be used in the sensor on the pole.

### Disposal

Used cells go to the yellow box behind the boiler house.
"""
CERTIFICATES = """# 证书手册

## 轮换

叶子证书每九十天轮换一次，由正式值班操作。
更换根证书须由平台值班经理批准。

## 吊销

泄露的私钥必须在一小时内吊销，并通知安全组。
"""
STORAGE = """<!doctype html><html lang="en"><head><title>Storage</title></head><body><main>
<h1>Storage classes</h1><p>A volume keeps its data when the pod that used it is deleted.</p>
<h2>Reclaiming</h2><p>With the policy Retain an administrator reclaims the volume by hand.</p>
<table><tr><th>Policy</th><th>Effect</th></tr><tr><td>Delete</td><td>the volume is removed</td></tr></table>
</main></body></html>
"""
NETWORK = """<!doctype html><html lang="zh"><head><title>网络策略</title></head><body><main>
<h1>网络策略</h1><p>默认情况下，命名空间中的所有入站流量都被允许。</p>
<h2>隔离</h2><p>一旦有策略选中某个容器组，其余入站流量就会被拒绝。</p>
</main></body></html>
"""
REPORT = [
    ["Tidal gauge report", "The gauge at the pier was read every six hours."],
    ["Deviation", "The deviation fell to 3.5 millimetres after calibration."],
]
NOTES = "Shift notes\n\nThe boiler house was inspected on Tuesday. 锅炉房周二检查过。\n"

FILES: dict[str, bytes] = {
    "pumps.md": PUMPS.encode(),
    "证书.md": CERTIFICATES.encode(),
    "网页/storage.html": STORAGE.encode(),
    "网页/network.html": NETWORK.encode(),
    "tide.pdf": make_pdf(REPORT),
    "notes.txt": NOTES.encode(),
    "copy of notes.txt": NOTES.encode(),
}
FOLDER = "资料 library"

QUESTIONS = {
    "How often must the blue pump be oiled?": ("pumps.md", "every 40 days"),
    "叶子证书多久轮换一次？": ("证书.md", "叶子证书每九十天轮换一次"),
    "What happens to a volume when its pod is deleted?": ("storage.html", "keeps its data"),
    "谁批准更换根证书": ("证书.md", "平台值班经理"),
    "how far did the deviation fall": ("tide.pdf", "3.5 millimetres"),
    "入站流量 拒绝": ("network.html", "入站流量"),
}
SEARCHES = (
    *QUESTIONS,
    "yellow box cells",
    "锅炉房",
    "policy Retain administrator",
    "私钥 泄露",
    "gauge pier hours",
)

PART = "The valve 阀门 number {0} is red and closes after {0} hours, says the manual of the maker. " * 4
LONG = "\n\n".join(f"## Section {n}\n\n{PART.format(n)}\n\n{PART.format(n + 100)}" for n in range(24))


def write_files(folder: Path) -> Path:
    """All files below a folder whose name has a blank and Chinese characters."""
    place = folder / FOLDER
    for name, content in FILES.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return place

"""A document full of hostile HTML, SVG and Markdown executes nothing, wherever it is shown."""

from playwright.sync_api import Browser, expect

from acceptance.page.browsing import Visit, visit
from acceptance.page.conftest import Host

SPRING = "window.sprung = (window.sprung || 0) + 1"
MARKDOWN = f"""# <script>{SPRING}</script> <img src=x onerror="{SPRING}">

<svg onload="{SPRING}"><script>{SPRING}</script></svg> pelican

[pelican](javascript:{SPRING.replace(" ", "")}) ![pelican](https://evil.invalid/pixel.png)

<iframe srcdoc="<script>parent.{SPRING}</script>"></iframe> <a href="javascript:{SPRING}">pelican</a>

<style>body {{ display: none }}</style><base href="https://evil.invalid/">
<meta http-equiv=refresh content="0;url=https://evil.invalid">

```"><script>{SPRING}</script>
pelican
```

| <img src=x onerror="{SPRING}"> | ⟦<b>pelican</b>⟧ |
| --- | --- |
| `{{{{constructor.constructor("{SPRING}")()}}}}` | pelican |
"""
PAGE = f"""<!doctype html><title><img src=x onerror="{SPRING}"></title><body onload="{SPRING}">
<h1 onclick="{SPRING}">Pelican &lt;script&gt;{SPRING}&lt;/script&gt;</h1>
<p>The pelican &lt;img src=x onerror=&quot;{SPRING}&quot;&gt; eats fish.</p><script>{SPRING}</script>"""
PICTURE = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{SPRING}"><text>pelican</text></svg>'
NAME = "<img src=x onerror=sprung=1>.md"


def test_hostile_documents_execute_nothing(host: Host, browser: Browser) -> None:
    with visit(browser, host.url) as person:
        person.page.on("dialog", lambda dialog: person.complaints.append(dialog.message))
        person.page.goto(host.link())
        person.at(".room-head button").click()
        person.page.locator("dialog input[name=name]").fill('<img src=x onerror="window.sprung=1">')
        person.page.locator("dialog button[type=submit]").click()
        expect(person.page.locator(".room-head select option:checked")).to_contain_text("<img")
        expect(person.page.locator("tbody .soft")).to_have_count(1)
        person.drop({"a.md": MARKDOWN, "b.html": PAGE, "c.svg": PICTURE, NAME: MARKDOWN})
        expect(person.page.locator("tbody .tag.ready")).to_have_count(4, timeout=60_000)
        _look_everywhere(person)
        assert person.page.evaluate("window.sprung") is None
        assert person.foreign == []
        assert [text for text in person.complaints if "Failed to load resource" not in text] == []
        assert (
            person.page.locator("main script, main iframe, main base, main style, main [onerror]").count()
            == 0
        )


def _look_everywhere(person: Visit) -> None:
    count = person.page.locator("tbody a").count()
    assert count == 4
    for at in range(count):
        person.way("documents")
        person.at("tbody tr .tag.ready")
        person.page.locator("tbody th a").nth(at).click()
        person.page.locator("main .line, main .box").first.wait_for()
        for line in person.page.locator(".line").all()[:6]:
            line.click()
            person.at(".chunk-details .prose")
    person.way("search")
    person.at("input[type=search]").fill("pelican")
    person.page.keyboard.press("Enter")
    person.at(".result mark")
    person.page.locator(".why > summary").first.click()
    person.shoot("hostile")
    person.way("chat")
    person.at(".composer textarea").fill(f'<img src=x onerror="{SPRING}"> pelican?')
    person.page.keyboard.press("Enter")
    person.at(".sources li, .answer p")
    person.page.wait_for_timeout(500)


def test_injected_markup_is_refused_by_the_policy(host: Host, browser: Browser) -> None:
    with visit(browser, host.url) as person:
        person.page.goto(f"{host.url}/")
        person.at("kosmos-signin form")
        refused = person.page.evaluate(
            """async () => {
              const found = [];
              addEventListener("securitypolicyviolation", (event) => found.push(event.effectiveDirective));
              const script = document.createElement("script");
              try { script.text = "window.sprung = 1"; } catch (error) { found.push(error.name); }
              try { document.body.innerHTML = "<b>x</b>"; } catch (error) { found.push(error.name); }
              const evaluate = () => new Function("window.sprung = 1")();
              await new Promise((done) => setTimeout(() => {
                try { evaluate(); } catch (error) { found.push(error.name); }
                done();
              }));
              document.body.setAttribute("style", "color: red");
              const image = new Image();
              image.src = "https://evil.invalid/pixel.png";
              await fetch("https://evil.invalid/").catch(() => {});
              await new Promise((done) => setTimeout(done, 300));
              return [found, window.sprung === undefined];
            }"""
        )
        assert refused[1]
        assert {"require-trusted-types-for", "style-src-attr", "img-src", "connect-src", "EvalError"} <= set(
            refused[0]
        )
        assert person.page.evaluate("getComputedStyle(document.body).color") != "rgb(255, 0, 0)"

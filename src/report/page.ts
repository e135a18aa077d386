/**
 * Shows the copy buttons where copying can work, and unfolds everything for paper. The page is complete without it.
 *
 * @param copied what a button says once it was pressed
 */
export const pageScript = (copied: string): string => `
const label = ${JSON.stringify(copied).replaceAll('<', '\\u003c')};
for (const button of document.querySelectorAll('button.copy')) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector('code').textContent);
    const before = button.textContent;
    button.textContent = label;
    setTimeout(() => { button.textContent = before; }, 1500);
  });
}
let folded = [];
addEventListener('beforeprint', () => {
  folded = [...document.querySelectorAll('details:not([open])')];
  for (const details of folded) details.open = true;
});
addEventListener('afterprint', () => { for (const details of folded) details.open = false; });
`;

/** Light and dark by the reader's preference, from a phone to paper. Colours only repeat what the text says. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --ink: #16202b; --soft: #566370; --line: #dfe4ea; --ground: #ffffff; --sunken: #f4f6f9; --raised: #ffffff; --edge: rgb(22 32 43 / 0.28);
  --accent: #0068a3; --accent-ground: #eaf4fb; --good: #00629b; --bad: #a63c00;
  --warn-line: #c98500; --warn-ground: #fff7e6;
  --terminal: #101a24; --terminal-ink: #e7eef5; --terminal-soft: #93a4b5; --terminal-line: #101a24;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK JP", sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6ecf2; --soft: #a1adba; --line: #2b3641; --ground: #12181f; --sunken: #1a222b; --raised: #171f27; --edge: rgb(0 0 0 / 0.75);
    --accent: #6bbcee; --accent-ground: #14283a; --good: #7cc6f2; --bad: #ff9d66;
    --warn-line: #d99a1c; --warn-ground: #2a2213;
    --terminal: #0b1016; --terminal-ink: #e7eef5; --terminal-soft: #93a4b5; --terminal-line: #2b3641;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 4rem; -webkit-text-size-adjust: 100%; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.6 var(--sans); }
.page { max-width: 74rem; margin: 0 auto; padding: 0 1.5rem 5rem; }
main { min-width: 0; max-width: 56rem; margin: 0 auto; }
h1, h2, h3, h4 { line-height: 1.25; text-wrap: balance; overflow-wrap: anywhere; }
h1 { font-size: clamp(1.5rem, 1.25rem + 1.2vw, 2rem); letter-spacing: -0.02em; margin: 2.25rem 0 0.35rem; text-wrap: wrap; }
h2 { font-size: 1.5rem; letter-spacing: -0.01em; margin: 3.25rem 0 1rem; padding-top: 1.6rem; border-top: 1px solid var(--line); }
header + section h2 { margin-top: 1.1rem; padding-top: 0; border: 0; }
h3 { font-size: 1.15rem; margin: 2.25rem 0 0.6rem; }
h4 { font-size: 0.95rem; font-family: var(--mono); font-weight: 600; margin: 1.75rem 0 0.5rem; }
h4 .mark, h3 .mark, h2 .mark, h1 .mark { display: inline-block; vertical-align: middle; font: 600 0.75rem/1 var(--sans); letter-spacing: 0; padding: 0.3em 0.6em; border-radius: 1em; color: var(--ink); background: var(--warn-ground); border: 1px solid var(--warn-line); }
p { margin: 0.7rem 0; overflow-wrap: anywhere; }
header p { margin-top: 0; }
ul, ol { padding-left: 1.3rem; }
li { margin: 0.4rem 0; overflow-wrap: anywhere; }
li::marker { color: var(--soft); }
a { color: var(--accent); }
.muted { color: var(--soft); }
.good { color: var(--good); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
.n { white-space: nowrap; }
code { font: 0.9em/1.5 var(--mono); }
p code, td code, th code, li code { background: var(--sunken); border-radius: 4px; padding: 0.1em 0.35em; }

nav { position: sticky; top: 0; z-index: 2; margin: 0 -1.5rem; padding: 0 1.5rem; background: var(--ground); border-bottom: 1px solid var(--line); }
nav p { display: none; }
nav ol { display: flex; gap: 1.2rem; margin: 0; padding: 0; list-style: none; overflow-x: auto; scrollbar-width: none; }
nav ol::-webkit-scrollbar { display: none; }
nav li { margin: 0; flex: none; font-size: 0.87rem; }
nav li.l3 { display: none; }
nav a { display: block; padding: 0.65rem 0; color: var(--soft); text-decoration: none; white-space: nowrap; }
nav a:hover { color: var(--accent); }

.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(12.5rem, 1fr)); gap: 0.8rem; margin: 1.1rem 0 1.4rem; }
.figures > div { border: 1px solid var(--line); border-radius: 10px; padding: 0.85rem 1.1rem 0.95rem; background: var(--raised); }
.figures > .lead { background: var(--accent-ground); border-color: transparent; color: inherit; font-weight: inherit; }
.figures dt { font-size: 0.85rem; color: var(--soft); }
.figures dt::first-letter { text-transform: uppercase; }
.figures dd { margin: 0; }
.figures .value { font-size: 1.65rem; line-height: 1.3; font-weight: 650; letter-spacing: -0.02em; font-variant-numeric: tabular-nums; }
.figures .lead.good .value { color: var(--good); }
.figures .lead.bad .value { color: var(--bad); }
.figures .note { font-size: 0.85rem; line-height: 1.45; color: var(--soft); }

/* Shadows at the edges tell that there is more, and go where there is not: the covers scroll along, the shadows stay. */
.scroll {
  overflow-x: auto; margin: 1.1rem 0; background-color: var(--ground); background-repeat: no-repeat;
  background-image: linear-gradient(to right, var(--ground) 40%, transparent), linear-gradient(to left, var(--ground) 40%, transparent),
    linear-gradient(to right, var(--edge), transparent), linear-gradient(to left, var(--edge), transparent);
  background-position: left, right, left, right; background-size: 3rem 100%, 3rem 100%, 1.1rem 100%, 1.1rem 100%;
  background-attachment: local, local, scroll, scroll;
}
.scroll::-webkit-scrollbar { height: 0.55rem; }
.scroll::-webkit-scrollbar-thumb { border-radius: 1rem; background: var(--soft); }
.scroll::-webkit-scrollbar-track { border-radius: 1rem; background: var(--sunken); }
@supports not selector(::-webkit-scrollbar) { .scroll { scrollbar-width: thin; scrollbar-color: var(--soft) var(--sunken); } }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; line-height: 1.45; }
caption { text-align: left; color: var(--soft); font-size: 0.85rem; padding-bottom: 0.45rem; }
th, td { text-align: left; vertical-align: baseline; padding: 0.5rem 0.75rem; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
thead th { font-size: 0.82rem; font-weight: 600; color: var(--soft); vertical-align: bottom; border-bottom: 2px solid var(--line); }
tbody th { font-weight: 550; overflow-wrap: break-word; }
.pairs tbody th { width: 13rem; }
.pairs td { overflow-wrap: anywhere; }
tbody tr:last-child > * { border-bottom: 0; }
.num { text-align: right; font-variant-numeric: tabular-nums; }
td.num { white-space: nowrap; }
td.num .muted { display: block; font-size: 0.8rem; }

.code { position: relative; margin: 0.7rem 0; }
pre { margin: 0; padding: 0.8rem 1rem; background: var(--sunken); border: 1px solid var(--line); border-radius: 8px; overflow-x: auto; }
pre code { font-size: 0.83rem; }
.sh pre { white-space: pre-wrap; overflow-wrap: anywhere; padding-right: 4.6rem; }
.prominent pre { background: var(--terminal); border-color: var(--terminal-line); color: var(--terminal-ink); padding: 1.05rem 5rem 1.05rem 1.2rem; border-radius: 10px; }
.prominent pre code { font-size: 0.95rem; }
.copy { position: absolute; top: 0.5rem; right: 0.5rem; font: 0.78rem var(--sans); padding: 0.25rem 0.65rem; border: 1px solid var(--line); border-radius: 6px; background: var(--raised); color: var(--soft); cursor: pointer; }
.copy:hover { color: var(--ink); }
.prominent .copy { top: 0.8rem; right: 0.8rem; background: transparent; border-color: #3a4a5a; color: var(--terminal-soft); }
.prominent .copy:hover { color: var(--terminal-ink); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }

details { margin: 0.5rem 0; border: 1px solid var(--line); border-radius: 8px; }
summary { padding: 0.5rem 0.9rem; cursor: pointer; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
details > :not(summary) { margin: 0 0.9rem 0.9rem; }
details > .scroll { margin-top: 0.3rem; }
details pre { max-height: 40rem; }

.callout { margin: 0.9rem 0; padding: 0.65rem 1.1rem; border-left: 4px solid var(--accent); background: var(--accent-ground); border-radius: 0 8px 8px 0; }
.callout.warning { border-color: var(--warn-line); background: var(--warn-ground); }
.callout p { margin: 0.3rem 0; }
.callout details { background: var(--ground); }

figure { margin: 1.6rem 0; }
/* The drawing keeps a margin of 2 % for itself; here the page has one. */
figure svg { display: block; width: 104.17%; margin-left: -2.083%; overflow: visible; }
figure .st-ground { fill: none; }
figcaption { color: var(--soft); font-size: 0.85rem; margin-top: 0.2rem; }

@media (min-width: 72rem) {
  .page { display: grid; grid-template-columns: 13.5rem minmax(0, 1fr); gap: 3.5rem; }
  html { scroll-padding-top: 1.5rem; }
  main { margin: 0; }
  nav { align-self: start; max-height: 100vh; overflow-y: auto; margin: 0; padding: 2.4rem 0 2rem; border: 0; }
  nav p { display: block; margin: 0 0 0.5rem; font-size: 0.8rem; font-weight: 600; color: var(--ink); }
  nav ol { display: block; overflow: visible; border-left: 1px solid var(--line); }
  nav li.l3 { display: block; }
  nav a { white-space: normal; padding: 0.2rem 0 0.2rem 0.9rem; line-height: 1.35; overflow-wrap: anywhere; }
  nav li.l3 a { padding-left: 1.8rem; font-size: 0.82rem; }
}
@media (max-width: 40rem) {
  .page { padding: 0 1rem 3rem; }
  nav { margin: 0 -1rem; padding: 0 1rem; }
  h1 { margin-top: 1.4rem; }
  pre { padding: 0.7rem 0.8rem; }
  .prominent pre { padding: 0.9rem 4.4rem 0.9rem 0.9rem; }
  .prominent pre code { font-size: 0.85rem; }
  .text pre code { font-size: 0.68rem; }
  .figures { grid-template-columns: 1fr 1fr; gap: 0.6rem; }
  .figures > .lead { grid-column: 1 / -1; }
  .figures > div { padding: 0.7rem 0.9rem; }
  .figures .value { font-size: 1.25rem; }
  .figures .lead .value { font-size: 1.7rem; }
  table { font-size: 0.82rem; }
  thead th { font-size: 0.75rem; }
  th, td { padding: 0.45rem 0.4rem; }
  td.num { white-space: normal; }
  td.num .muted { font-size: 0.72rem; }
  caption span { display: inline-block; position: sticky; left: 0; max-width: calc(100vw - 3.5rem); }
  tbody th { position: sticky; left: 0; background: var(--ground); max-width: 38vw; overflow-wrap: anywhere; }
}
@page { margin: 16mm 15mm; }
@media print {
  :root { --ink: #000; --soft: #444; --line: #bbb; --ground: #fff; --sunken: #f6f6f6; --raised: #fff; --accent: #0068a3; --accent-ground: #eef5fa; --good: #00567f; --bad: #8a3200; --warn-ground: #fff9ec; --terminal: #f6f6f6; --terminal-ink: #000; --terminal-line: #888; }
  body { font-size: 10pt; line-height: 1.45; }
  .page { display: block; max-width: none; padding: 0; }
  main { max-width: none; }
  nav, .copy { display: none; }
  h1 { margin-top: 0; font-size: 20pt; }
  h2 { font-size: 14pt; margin-top: 1.4rem; padding-top: 0.8rem; }
  h1, h2, h3, h4, caption, summary { break-after: avoid; }
  tr, .figures > div, figure, .callout, .prominent, details { break-inside: avoid; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; padding-right: 1rem !important; }
  details pre { max-height: none; }
  .text pre code { font-size: 7.5pt; }
  .scroll { overflow: visible; background: none; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
`;

#include "report/style.h"

#define LIGHT                                                                                      \
    "--ground:#fff;--panel:#f6f7f9;--text:#1c2430;--soft:#566073;--line:#d5dae2;"                  \
    "--accent:#00639c;--c1:#0072b2;--c2:#d55e00;--c3:#8a94a6;--c4:#009e73;--c5:#a8508a;"           \
    "--c6:#b98a00;--cold:#e8edf3;--hot:#00497a;"
#define DARK                                                                                       \
    "--ground:#12161d;--panel:#1a202a;--text:#e4e8ef;--soft:#9aa5b8;--line:#343d4c;"               \
    "--accent:#6cc0f5;--c1:#56b4e9;--c2:#f08a3c;--c3:#6f7a8d;--c4:#2fc79a;--c5:#dd8fc0;"           \
    "--c6:#f0e442;--cold:#232b37;--hot:#7fd0ff;"

const char *tt_style_colors(void)
{
    return ":root{color-scheme:light dark;" LIGHT "}"
           "@media(prefers-color-scheme:dark){:root{" DARK "}}"
           "@media print{:root{color-scheme:light;" LIGHT "}}"
           "svg.plot text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',"
           "'Liberation Sans',sans-serif;font-size:12.5px}";
}

const char *tt_style_page(void)
{
    return "*{box-sizing:border-box}"
           "html{-webkit-text-size-adjust:100%}"
           "body{margin:0;background:var(--ground);color:var(--text);font:16px/1.55 system-ui,"
           "-apple-system,'Segoe UI',Roboto,'Noto Sans','Liberation Sans',sans-serif}"
           "main,header,footer{max-width:52rem;margin:0 auto;padding:0 1.25rem}"
           "header{padding-top:2.5rem}"
           "h1{font-size:1.75rem;line-height:1.2;margin:0 0 .25rem;letter-spacing:-.01em;"
           "overflow-wrap:anywhere}"
           "h2{font-size:1.25rem;line-height:1.3;margin:3rem 0 .5rem;padding-top:1.25rem;"
           "border-top:1px solid var(--line)}"
           "p{margin:.5rem 0}"
           ".sub{color:var(--soft);margin:0 0 1.25rem;overflow-wrap:anywhere}"
           ".answer{font-size:1.0625rem;font-weight:600}"
           ".note{color:var(--soft);font-size:.875rem}"
           ".figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(max(9.5rem,33.3% - "
           ".75rem),1fr));"
           "gap:.75rem;margin:1rem 0;padding:0}"
           ".figures div{background:var(--panel);border:1px solid var(--line);"
           "border-radius:.5rem;padding:.75rem .9rem}"
           ".figures dt{color:var(--soft);font-size:.8125rem;line-height:1.3}"
           ".figures "
           "dd{margin:0;font-size:clamp(1.05rem,4.6vw,1.3rem);font-weight:650;line-height:1.35;"
           "font-variant-numeric:tabular-nums;overflow-wrap:anywhere}"
           ".figures div{display:flex;flex-direction:column-reverse;justify-content:flex-end}"
           ".summary{background:var(--panel);border:1px solid var(--line);border-left:.3rem solid "
           "var(--accent);border-radius:.5rem;padding:.9rem 1.2rem;margin:1rem 0}"
           ".summary p:first-child{font-size:1.125rem;font-weight:650;margin-top:0}"
           ".summary p:last-child{margin-bottom:0}"
           ".summary.alarming{border-left-color:var(--c2)}"
           ".wide main,.wide header,.wide footer{max-width:76rem}.wide figure{max-width:52rem}"
           "nav{font-size:.875rem;margin:1.25rem 0 0}"
           "nav ul{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.15rem 1rem}"
           "a{color:var(--accent)}"
           "figure{margin:1.25rem 0}"
           "figcaption{font-size:.875rem;font-weight:600;margin-bottom:.25rem}"
           "svg.plot{display:block;width:100%;height:auto}"
           ".scroll{overflow-x:auto;margin:.75rem 0}"
           "table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums;"
           "width:100%}"
           "caption{text-align:left;font-weight:600;padding:.25rem 0}"
           "th,td{text-align:left;padding:.3rem .75rem .3rem 0;border-bottom:1px solid "
           "var(--line);vertical-align:top;font-weight:400}"
           "thead th{color:var(--soft);font-size:.8125rem;"
           "border-bottom:2px solid var(--line);vertical-align:bottom}"
           "tbody th,td{overflow-wrap:break-word;max-width:30rem}"
           "th:last-child,td:last-child{padding-right:0}"
           ".n{text-align:right}td.n{white-space:nowrap}"
           "tr.m th,tr.m td{font-weight:650}"
           ".bar{min-width:7.5rem}.bar div{display:grid;grid-template-columns:1fr 1fr;"
           "align-items:center}th.bar span+span{text-align:right}th.bar{white-space:nowrap}"
           "td.bar div{background:linear-gradient(var(--line),var(--line)) center/1px 100% "
           "no-repeat}"
           ".bar i{display:block;height:.8rem;margin:.2rem 0;min-width:1px}"
           ".bar .l{justify-self:end;background:var(--c1)}.bar .r{background:var(--c2)}"
           "details{margin:.5rem 0}summary{cursor:pointer;color:var(--accent);font-size:.875rem}"
           "footer{color:var(--soft);font-size:.8125rem;margin-top:3rem;padding-bottom:2rem}"
           "@media print{main,header,footer{max-width:none}body{font-size:11pt}"
           "h2{break-after:avoid}figure,.scroll{break-inside:avoid}nav,summary{display:none}}";
}

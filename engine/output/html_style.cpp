// Style sheet and script of the HTML page. Slot colours are added by html.cpp as .w0, .w1, ...

#include "engine/output/html.hpp"

namespace twill {

const char* const kHtmlStyle = R"css(
:root{color-scheme:light dark;--paper:#fbfbfa;--card:#fff;--ink:#1d2329;--soft:#626c76;--line:#dfe3e7;
--band:#f1f3f5;--accent:#2f6fb3;--bar-ink:#14181c;--edge:rgba(0,0,0,.28)}
@media (prefers-color-scheme:dark){:root{--paper:#14171a;--card:#1b1f24;--ink:#e6e9ec;--soft:#98a2ac;
--line:#31373e;--band:#20252b;--accent:#7fb6ee;--edge:rgba(0,0,0,.55)}}
*{box-sizing:border-box}
body{margin:0 auto;padding:24px 28px 60px;max-width:1800px;background:var(--paper);color:var(--ink);
font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:22px;margin:0 0 2px;font-weight:650;overflow-wrap:anywhere}
h2{font-size:15px;margin:34px 0 10px;font-weight:650}
h3{font-size:13px;margin:18px 0 4px;color:var(--soft);font-weight:600}
p.sub{margin:0 0 18px;color:var(--soft)}
.badge{display:inline-block;padding:1px 9px;border-radius:10px;font-size:12px;font-weight:600;
vertical-align:3px;margin-left:8px;background:#cfd5db;color:#14181c}
.badge.optimal{background:#9bd8a4}.badge.feasible{background:#f3e17f}
.badge.infeasible{background:#f29e94}
.keys{display:flex;flex-wrap:wrap;gap:12px}
.keys div{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:9px 15px;min-width:116px}
.keys b{display:block;font-size:20px;font-weight:650;font-variant-numeric:tabular-nums}
.keys span{color:var(--soft);font-size:12px;display:block}
.warn{border-left:4px solid #e0752d;padding:6px 12px;background:var(--card);margin:12px 0}
.bar{display:flex;flex-wrap:wrap;gap:8px 22px;align-items:center;margin:0 0 10px;color:var(--soft);font-size:13px}
button{font:inherit;font-size:12px;color:var(--ink);background:var(--card);border:1px solid var(--line);
padding:2px 10px;margin-left:4px;border-radius:6px;cursor:pointer}
button[aria-pressed=true]{background:var(--accent);border-color:var(--accent);color:var(--paper)}
button:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.legend{display:none;gap:6px;flex-wrap:wrap}
body[data-by=slot] .by-slot,body[data-by=iteration] .by-iteration,body[data-by=tile] .by-tile{display:flex}
.chip{display:inline-block;padding:0 7px;border-radius:4px;font-size:12px;font-weight:600;
color:var(--bar-ink);background:var(--c);white-space:nowrap}
.timeline{display:flex;background:var(--card);border:1px solid var(--line);border-radius:8px;overflow:hidden}
.names{flex:none;width:138px;border-right:1px solid var(--line)}
.names .corner{height:26px;padding:2px 10px;color:var(--soft);font-size:11px}
.names .head{padding:3px 10px;color:var(--soft);font-size:11px;font-weight:600;text-transform:uppercase;letter-spacing:.05em}
.names .name{display:flex;justify-content:space-between;gap:6px;padding:2px 8px 0 10px;margin-bottom:6px;line-height:22px;overflow:hidden}
.names .name b{overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font-weight:600}
.names .name .chip{line-height:18px;height:18px;margin-top:2px}
.names i{font-style:normal;color:var(--soft);font-size:12px;font-variant-numeric:tabular-nums;white-space:nowrap}
.scroll{flex:1;overflow-x:auto;overflow-y:hidden;min-width:0}
#tl{display:block;min-width:100%}
.band{fill:var(--band)}
line.tick{stroke:var(--line);stroke-width:1}
text.tick{fill:var(--soft);font-size:11px;font-variant-numeric:tabular-nums}
line.period{stroke:var(--accent);stroke-width:1.5;stroke-dasharray:5 4}
.op rect{fill:var(--c);stroke:var(--edge);stroke-width:1}
.op.cont rect{fill-opacity:.72}
.level rect{fill:var(--soft);opacity:.55}.level.binds rect{fill:#d0492e;opacity:.75}
.level text{font-size:11.5px;fill:var(--ink);pointer-events:none}
td.binds{color:#d0492e;font-weight:650}
.op text{font-size:11.5px;fill:var(--bar-ink);pointer-events:none;visibility:hidden}
.op.fits text{visibility:visible}
.nil path{fill:var(--c);stroke:var(--edge);stroke-width:1;opacity:.9}
body[data-hot] .op:not(.hot) rect,body[data-hot] .nil:not(.hot) path{opacity:.35}
.op.hot rect,.nil.hot path{stroke:var(--ink);stroke-width:2}
.op.near rect,.nil.near path{opacity:.8!important}
tr.hot td,.code span.hot{background:color-mix(in srgb,var(--accent) 26%,transparent)}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(270px,1fr));gap:14px}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px 12px 10px}
figcaption{display:flex;gap:8px;justify-content:space-between;font-size:12px;font-variant-numeric:tabular-nums}
figcaption span{color:var(--soft)}figcaption em{color:#d0492e;font-style:normal;font-weight:650}
figure svg{display:block;width:100%;height:64px;margin-top:6px;background:var(--band);border-radius:4px}
.fill{fill:var(--c);stroke:none}.fill.mem{fill:var(--accent);opacity:.65}
line.cap{stroke:#d0492e;stroke-width:1.5;stroke-dasharray:6 4;vector-effect:non-scaling-stroke}
.wide{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:8px}
table{border-collapse:collapse;width:100%;font-size:13px}
th,td{padding:3px 12px;text-align:left;white-space:nowrap}
th{color:var(--soft);font-weight:600;font-size:12px;border-bottom:1px solid var(--line)}
tbody tr+tr td{border-top:1px solid var(--band)}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.code table{font:12px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.code td{padding:0 14px;border:0!important}.code td:first-child{color:var(--soft)}
.code th:first-child{width:80px}
.code td.some{background:color-mix(in srgb,var(--c) 34%,transparent)}
.code tr.cycle td{border-top:1px solid var(--line)!important}
ul.clash{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 12px 12px 32px}
footer{margin-top:36px;color:var(--soft);font-size:12px;overflow-wrap:anywhere}
)css";

const char* const kHtmlScript = R"js(
(function(){
var body=document.body,svg=document.getElementById('tl');
if(!svg)return;
var ops=[].slice.call(svg.querySelectorAll('svg.op'));
ops.forEach(function(o){var t=o.querySelector('text');o.full=t.textContent;o.label=t});
function fit(){
  var widths=ops.map(function(o){return o.firstElementChild.nextElementSibling.getBoundingClientRect().width});
  ops.forEach(function(o,k){
    var w=widths[k]-8,texts=[o.full,o.full.replace(/\[.*$/,''),o.dataset.short],pick='';
    for(var j=0;j<texts.length;j++)if(texts[j].length*(j==2?7:6.3)<=w){pick=texts[j];break}
    o.label.textContent=pick;o.classList.toggle('fits',!!pick)});
}
function press(group,button){
  [].forEach.call(group.querySelectorAll('button'),function(b){b.setAttribute('aria-pressed',b===button)})}
document.getElementById('colour').onclick=function(e){
  var by=e.target.dataset.by;if(!by)return;body.dataset.by=by;press(this,e.target)};
document.getElementById('zoom').onclick=function(e){
  var z=e.target.dataset.zoom;if(!z)return;svg.setAttribute('width',100*z+'%');press(this,e.target);fit()};
function hot(op){
  if(op===null)delete body.dataset.hot;else body.dataset.hot=op;
  var near=op===null?[]:(links[op]||[]);
  [].forEach.call(document.querySelectorAll('[data-op]'),function(x){
    x.classList.toggle('hot',x.dataset.op===op);x.classList.toggle('near',near.indexOf(+x.dataset.op)>=0)})}
var links={};
(svg.closest('.timeline').dataset.edges||'').split(' ').forEach(function(e){
  var p=e.split('-');if(p.length<2)return;
  (links[p[0]]=links[p[0]]||[]).push(+p[1]);(links[p[1]]=links[p[1]]||[]).push(+p[0])});
document.addEventListener('mouseover',function(e){
  var x=e.target.closest&&e.target.closest('[data-op]'),op=x?x.dataset.op:null;
  if(op!==(body.dataset.hot===undefined?null:body.dataset.hot))hot(op)});
addEventListener('resize',fit);fit();
})();
)js";

}  // namespace twill

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
.names .head{white-space:nowrap;overflow:hidden;padding:3px 10px;color:var(--soft);font-size:11px;font-weight:600;text-transform:uppercase;letter-spacing:.02em}
.names .name{display:flex;justify-content:space-between;gap:6px;padding:2px 8px 0 10px;margin-bottom:6px;line-height:22px;overflow:hidden}
.names .name b{overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font-weight:600}
.names .name .chip{line-height:18px;height:18px;margin-top:2px}
.names i{font-style:normal;color:var(--soft);font-size:12px;font-variant-numeric:tabular-nums;white-space:nowrap}
.scroll{flex:1;overflow-x:auto;overflow-y:hidden;min-width:0}
.tl{display:block}
.shapes{display:flex;flex-wrap:wrap;gap:4px 20px;margin:0 0 10px;color:var(--soft);font-size:12px}
.shapes svg{vertical-align:-2px;margin-right:5px;--c:#b9c2cb}.shapes .arrow{visibility:visible}
.arrow{stroke:var(--ink);stroke-width:1.4;opacity:.62;marker-end:url(#head);visibility:hidden;pointer-events:none}
.arrow.free{stroke-dasharray:3 3;opacity:.4}#head path{fill:var(--ink)}
body[data-arrows=on] .arrow,.arrow.hot{visibility:visible}
body[data-hot] .arrow:not(.hot){opacity:.12}.arrow.hot{opacity:1;stroke-width:1.8}
.op:focus,.nil:focus{outline:none}.op:focus-visible rect,.nil:focus-visible path{stroke:var(--accent);stroke-width:3}
.op.moved rect,.nil.moved path{stroke:var(--ink);stroke-width:2.6}
#tip{position:fixed;display:none;z-index:9;max-width:min(340px,94vw);padding:6px 10px;border-radius:6px;
background:var(--ink);color:var(--paper);font-size:12.5px;line-height:1.4;white-space:pre-line;pointer-events:none}
.binds{display:grid;grid-template-columns:repeat(auto-fit,minmax(300px,1fr));gap:14px;align-items:start}
.binds h3{margin:0 0 6px}.binds section{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 14px;overflow-x:auto}
.binds ul{margin:0;padding:0;list-style:none;font-size:13px}.binds li{padding:2px 0;overflow-wrap:anywhere}
.binds li.now{font-weight:600}.binds li.now b{color:#d0492e}.binds b{font-variant-numeric:tabular-nums}
@media (max-width:640px){body{padding:14px 12px 40px}.names{width:92px}.names .name i{display:none}}
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
var body=document.body,tip=document.getElementById('tip');
var all=function(q,in_){return [].slice.call((in_||document).querySelectorAll(q))};
var svgs=all('svg.tl');
if(!svgs.length)return;
var ops=all('svg.tl svg.op'),marks=all('svg.tl svg.op,svg.tl svg.nil,svg.tl g.level');
ops.forEach(function(o){var t=o.querySelector('text');o.full=t.textContent;o.label=t});
marks.forEach(function(o){var t=o.querySelector('title');if(!t)return;
  o.tip=t.textContent;o.setAttribute('aria-label',o.tip.replace(/\n/g,', '));
  o.setAttribute('role','img');o.setAttribute('tabindex','-1');t.remove()});
function fit(){
  var widths=ops.map(function(o){return o.querySelector('rect').getBoundingClientRect().width});
  ops.forEach(function(o,k){
    var w=widths[k]-8,texts=[o.full,o.full.replace(/\[.*$/,''),o.dataset.short],pick='';
    for(var j=0;j<texts.length;j++)if(texts[j].length*(j==2?7:6.3)<=w){pick=texts[j];break}
    o.label.textContent=pick;o.classList.toggle('fits',!!pick)});
}
// As many ticks as have room, at 1, 2 or 5 times a power of ten.
function ticks(svg){
  var span=+svg.dataset.span,width=svg.getBoundingClientRect().width,step=1;
  for(var k=0;step*width/span<64;k++)step=k%3==1?step/2*5:step*2;
  all('.tick',svg).forEach(function(t){t.remove()});
  var first=svg.querySelector('line.period'),high=svg.getAttribute('height');
  for(var c=0;c<span;c+=step){
    var x=100*c/span+'%',l=document.createElementNS(svg.namespaceURI,'line'),t=document.createElementNS(svg.namespaceURI,'text');
    l.setAttribute('class','tick');l.setAttribute('x1',x);l.setAttribute('x2',x);
    l.setAttribute('y1',18);l.setAttribute('y2',high);svg.insertBefore(l,first);
    if((span-c)*width/span<9*(''+c).length)continue;
    t.setAttribute('class','tick');t.setAttribute('x',x);t.setAttribute('y',13);t.setAttribute('dx',3);
    t.textContent=c;
    svg.insertBefore(t,first)}
}
function draw(){svgs.forEach(ticks);fit()}
function press(group,button){
  all('button',group).forEach(function(b){b.setAttribute('aria-pressed',b===button)})}
document.getElementById('colour').onclick=function(e){
  var by=e.target.dataset.by;if(!by)return;body.dataset.by=by;press(this,e.target)};
document.getElementById('zoom').onclick=function(e){
  var z=e.target.dataset.zoom;if(!z)return;
  svgs.forEach(function(s){var box=s.parentNode,at=(box.scrollLeft+box.clientWidth/2)/box.scrollWidth;
    s.setAttribute('width',100*z*s.dataset.scale+'%');
    box.scrollLeft=at*box.scrollWidth-box.clientWidth/2});
  press(this,e.target);draw()};
var arrows=document.getElementById('arrows');
if(arrows){
  var button=arrows.querySelector('button');
  var show=function(){body.dataset.arrows=button.getAttribute('aria-pressed')=='true'?'on':'off'};
  button.onclick=function(){
    button.setAttribute('aria-pressed',button.getAttribute('aria-pressed')!='true');show()};
  show()}
var links={};
(svgs[0].closest('.timeline').dataset.edges||'').split(' ').forEach(function(e){
  var p=e.split('-');if(p.length<2)return;
  (links[p[0]]=links[p[0]]||[]).push(+p[1]);(links[p[1]]=links[p[1]]||[]).push(+p[0])});
function hot(op){
  if(op===null)delete body.dataset.hot;else body.dataset.hot=op;
  var near=op===null?[]:(links[op]||[]);
  all('[data-op]').forEach(function(x){
    x.classList.toggle('hot',x.dataset.op===op);x.classList.toggle('near',near.indexOf(+x.dataset.op)>=0)});
  all('.arrow').forEach(function(x){
    x.classList.toggle('hot',op!==null&&(x.dataset.from===op||x.dataset.to===op))})}
function say(x){
  if(!x||!x.tip){tip.style.display='none';return}
  tip.textContent=x.tip;tip.style.display='block';
  var b=(x.querySelector('rect,path')||x).getBoundingClientRect(),t=tip.getBoundingClientRect();
  var left=Math.max(4,Math.min(b.left,innerWidth-t.width-4));
  left=Math.max(left,Math.min(x.closest('.scroll').getBoundingClientRect().left,innerWidth-t.width-4));
  tip.style.left=left+'px';
  tip.style.top=(b.bottom+6+t.height<innerHeight?b.bottom+6:Math.max(4,b.top-t.height-6))+'px'}
// Keys go from one op to the next, by time within a row; one of them takes the tab.
var order=marks.filter(function(o){return o.tip});
function place(x){var b=(x.querySelector('rect,path')||x).getBoundingClientRect();return[Math.round(b.top),b.left]}
function now(x){
  order.forEach(function(o){o.setAttribute('tabindex',o===x?'0':'-1')})}
if(order.length)now(order[0]);
function at(e){return e.target.closest&&e.target.closest('svg.op,svg.nil,g.level')}
function look(x,named){hot(named?named.dataset.op||null:null);say(x)}
document.addEventListener('mouseover',function(e){
  var named=e.target.closest&&e.target.closest('[data-op]');look(at(e),named)});
document.addEventListener('focusin',function(e){var x=at(e);if(x){now(x);look(x,x)}else look(null,null)});
document.addEventListener('click',function(e){
  var x=at(e),named=e.target.closest&&e.target.closest('[data-op]');look(x,named);
  if(x&&x.tip)x.focus({preventScroll:true})});
document.addEventListener('keydown',function(e){
  var x=at(e);
  if(e.key=='Escape'){look(null,null);return}
  var by={ArrowRight:1,ArrowLeft:-1,ArrowDown:1,ArrowUp:-1}[e.key];
  if(!x||!by)return;
  e.preventDefault();
  var here=place(x),best=null,least=null,along=e.key=='ArrowRight'||e.key=='ArrowLeft';
  order.forEach(function(o){if(o===x)return;
    var p=place(o),down=p[0]-here[0],right=p[1]-here[1];
    if(along?(Math.abs(down)>8||right*by<=0):down*by<=8)return;
    var far=along?Math.abs(right):Math.abs(down)*1e4+Math.abs(right);
    if(least===null||far<least){least=far;best=o}});
  if(!best)return;
  best.focus({preventScroll:true});best.scrollIntoView({block:'nearest',inline:'nearest'});say(best)});
addEventListener('resize',draw);draw();
})();
)js";

}  // namespace twill

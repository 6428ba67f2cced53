// scratch: node shot.mjs NAME TRACE FRAGMENT [theme] [w] [h]
import { openBrowser } from './browser.mjs';
import { startServer } from './server.mjs';
import { Viewer } from './viewer.mjs';
const [,, ...list] = process.argv;
const b = await openBrowser();
for (const spec of list) {
  const [name, trace, fragment, theme='dark', w='1440', h='900', act=''] = spec.split('|');
  const server = await startServer(trace.split(','));
  const v = await Viewer.open(b, server, { theme, viewport: {width:+w,height:+h}, fragment });
  await new Promise(r=>setTimeout(r,900));
  if (act) { await v.page.evaluate(act); await new Promise(r=>setTimeout(r,4000)); }
  await v.picture(name);
  const p = await v.problems(); if (p.length) console.log(name, p);
  await v.close(); await server.stop();
}
await b.close();

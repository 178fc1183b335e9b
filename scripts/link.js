// Makes `npx wfx` mean this checkout: npm links the bins of dependencies, but not a package's own.
import { existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';

const folder = 'node_modules/.bin';
if (existsSync(folder)) {
  rmSync(`${folder}/wfx`, { force: true });
  if (process.platform === 'win32') writeFileSync(`${folder}/wfx.cmd`, '@node "%~dp0\\..\\..\\bin\\wfx.js" %*\r\n');
  else symlinkSync('../../bin/wfx.js', `${folder}/wfx`);
}

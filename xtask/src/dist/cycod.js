#!/usr/bin/env node
'use strict';
// Starts the program of the package for this platform, which npm installed as an optional dependency.
const { spawn } = require('node:child_process');

const name = `cycod-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/cycod${process.platform === 'win32' ? '.exe' : ''}`);
} catch {
  console.error(`error: the package \`${name}\` is missing, so there is no cycod for this platform`);
  const platforms = Object.keys(require('./package.json').optionalDependencies).join(', ');
  console.error(`  there are: ${platforms}; npm must not leave optional dependencies out`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`error: ${program} doesn't start: ${error.message}`);
  process.exit(126);
});
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(name);
  process.kill(process.pid, signal);
});

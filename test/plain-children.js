// tap follows the programs that a test starts: each begins half a second later, and with handlers of signals that are not
// its own. Loaded before each test file, this lets them run as they do for users.
const followers = globalThis[Symbol.for('process-on-spawn@*:singletonId')];
if (followers !== undefined) {
  followers.listeners = [];
  for (const name of Object.keys(process.env))
    if (name === 'NODE_OPTIONS' || name.startsWith('_TAPJS_')) delete process.env[name];
}

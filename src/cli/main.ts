import { VERSION } from '../version.ts';

const argv = process.argv.slice(2);

// The most frequent question of scripts, answered before anything else is loaded.
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) process.stdout.write(`${VERSION}\n`);
else {
  const { main } = await import('./program.ts');
  await main(argv);
}

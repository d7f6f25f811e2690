// biome-ignore-all lint: the names are the attack
// Loads modules that input/ shadows.
require('fs').readFileSync('/work/input/' + require('fs').readdirSync('/work/input')[0]);
if (process.env.NODE_OPTIONS !== undefined || process.execArgv.length > 0) throw new Error('options');
console.log('clean');

// Runs the program in its first argument as the main module, where another size of the heap needed a new process.
'use strict';
require('./index.cjs');
process.argv.splice(1, 1);
require('node:module').runMain();

// Runs the program in its first argument as the main module, in a new process that another heap size needed.
'use strict';
require('./index.cjs');
process.argv.splice(1, 1);
require('node:module').runMain();

// Read by Node before any program is: its reader of TypeScript is then loaded.
const nothing: null = null;
module.exports = nothing;

// Node reads this before any program, so that its TypeScript parser is already loaded.
const nothing: null = null;
module.exports = nothing;

// Fills the JavaScript heap, a little at a time: the collector needs no room to speak of beside it.
const kept = [];
for (;;) kept.push(new Array(2000).fill(kept.length + 0.5));

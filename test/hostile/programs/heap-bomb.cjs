// Fills the JavaScript heap with small objects.
const kept = [];
for (;;) kept.push({ value: kept.length });

// Takes memory outside of the JavaScript heap and touches it.
const taken = [];
for (;;) taken.push(Buffer.alloc(1 << 20, 1));

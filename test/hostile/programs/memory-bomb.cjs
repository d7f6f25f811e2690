// Takes memory outside the JavaScript heap and touches that memory.
const taken = [];
for (;;) taken.push(Buffer.alloc(1 << 20, 1));

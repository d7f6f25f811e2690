// Takes memory outside the JavaScript heap, touches the memory, and exits with 0.
const taken = [];
while (taken.length < 200) taken.push(Buffer.alloc(1 << 20, 1));
console.log(taken.length);

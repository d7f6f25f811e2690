#include <stdio.h>

static int copy(FILE *from, FILE *to) {
    if (from == NULL || to == NULL) return 1;
    for (int byte = getc(from); byte != EOF; byte = getc(from)) putc(byte, to);
    return fclose(to);
}

int main(void) {
    if (copy(stdin, stdout) != 0) return 1;
    FILE *errors = fopen("/dev/stderr", "w");
    if (errors == NULL || fputs("canary stderr\n", errors) < 0 || fclose(errors) != 0) return 2;
    return copy(fopen("input/original", "r"), fopen("output/copy", "w")) == 0 ? 7 : 3;
}

#include <fstream>
#include <iostream>

int main() {
    std::cout << std::cin.rdbuf() << std::flush;
    std::ofstream("/dev/stderr") << "canary stderr\n";
    std::ofstream("output/copy") << std::ifstream("input/original").rdbuf();
    return 7;
}

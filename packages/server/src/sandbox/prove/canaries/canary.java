import java.nio.file.Files;
import java.nio.file.Path;
import java.io.FileWriter;

public class Main {
    public static void main(String[] args) throws Exception {
        System.in.transferTo(System.out);
        System.out.flush();
        try (FileWriter errors = new FileWriter("/dev/stderr")) {
            errors.write("canary stderr\n");
        }
        Files.copy(Path.of("input/original"), Path.of("output/copy"));
        System.exit(7);
    }
}

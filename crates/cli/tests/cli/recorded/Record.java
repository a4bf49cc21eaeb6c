import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.TimeZone;
import org.quartz.CronExpression;

/**
 * Reads expressions, one a line, with Quartz: writes the next six fire times, or `refused`.
 *
 * apt-get download libquartz2-java libslf4j-java, unpack both, and with their jars in CP:
 * grep -v "^#" quartz.txt | cut -d"|" -f1 | java -cp $CP Record.java UTC
 */
public class Record {
    public static void main(String[] args) throws Exception {
        SimpleDateFormat utc = new SimpleDateFormat("yyyy-MM-dd'T'HH:mm:ss'Z'");
        utc.setTimeZone(TimeZone.getTimeZone("UTC"));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line; (line = lines.readLine()) != null;) {
            System.out.println(line.trim() + " | " + answer(line.trim(), args[0], utc));
        }
    }

    static String answer(String text, String zone, SimpleDateFormat utc) {
        StringBuilder times = new StringBuilder();
        try {
            CronExpression expression = new CronExpression(text);
            expression.setTimeZone(TimeZone.getTimeZone(zone));
            Date at = utc.parse("2026-03-27T11:04:00Z");
            for (int count = 0; count < 6; count++) {
                at = expression.getTimeAfter(at);
                if (at == null) break;
                times.append(utc.format(at)).append(' ');
            }
        } catch (Exception refused) {
            return "refused";
        }
        return times.toString().trim();
    }
}

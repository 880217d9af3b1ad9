import Errand
import Testing

@Suite("A downloaded file")
struct DownloadedFileTests {
    @Test("it prints as one line, without the headers")
    func line() {
        let plain = DownloadedFile(path: "app.zip", bytes: 12, headers: ["X": "hunter2", "Y": "1"])
        #expect("\(plain)" == "app.zip: 12 bytes")
        let resumed = DownloadedFile(
            path: "a\nb", bytes: 1200, resumedAfter: 500, attempts: 3, isVerified: true, status: 206)
        #expect("\(resumed)" == "a b: 1200 bytes, resumed after 500, 3 attempts, verified")
    }
}

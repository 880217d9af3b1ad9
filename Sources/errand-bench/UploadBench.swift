import ChildProcess
import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Uploads of a large file: the speed beside the `curl` program, and the memory of a form with a file of 2 GB.
enum UploadBench {
    private static let cycles = 5
    private static let (file, part) = (1000 << 20, 2 << 30)

    static func run(_ base: String, into report: inout Report) throws {
        let url = "\(base)/upload"
        let path = FileManager.default.temporaryDirectory.appending(path: "errand-bench-\(getpid())").path
        // A file that cannot be removed stays in a folder that the system empties.
        defer { try? FileManager.default.removeItem(atPath: path) }
        try create(path, size: file)
        var (ratios, memory): ([Double], Double) = ([], 0)
        for _ in 0..<cycles {
            let own = try WireBench.worker(["put-file", url, path])
            memory = max(memory, own.memory)
            // Without the program there is nothing to compare with.
            guard let other = WireBench.curl(["-o", "/dev/null", "-H", "Expect:", "-T", path, url]) else { break }
            ratios.append(other / own.seconds)
        }
        if !ratios.isEmpty {
            report.add(
                "upload.vs_curl_program", .number(median(ratios)), "the speed of a file of \(file >> 20) MB to curl's")
        }
        report.add("upload.rss_mb", .number(memory), "MB of memory, at most, during the upload")
        try create(path, size: part)
        let form = try WireBench.worker(["post-form", url, path])
        report.add("multipart.rss_mb", .number(form.memory), "MB of memory, at most, for a form with a file of 2 GB")
    }

    /// Sends the file, alone or in a form. Returns the number of bytes.
    static func send(_ path: String, to url: String, isForm: Bool) async throws -> Int {
        let client = APIClient(url) { $0.rateLimit = .unlimited }
        let sent = Counter()
        if isForm {
            try await client.run(.post("", body: .multipart { $0.add("file", file: path) })) { progress in
                sent.add(progress.bytes - sent.value)
            }
        } else {
            try await client.run(.put("", body: .file(path)))
        }
        return sent.value
    }

    /// Creates a file of zeros that takes no place on the disk.
    static func create(_ path: String, size: Int) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil), truncate(path, off_t(size)) == 0 else {
            throw Child.Failure(description: "no file of \(size) bytes could be created at \(path)")
        }
    }
}

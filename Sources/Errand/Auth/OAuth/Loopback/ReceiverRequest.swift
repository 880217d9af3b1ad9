/// The head of a request to a receiver: the little of HTTP that it needs.
struct ReceiverRequest: Equatable {
    let method: String
    /// The path and the query.
    let target: String
    /// The only header `Host`; `nil` if there is none, or more than one.
    let host: String?

    /// The path without the query.
    var path: String { String(target.prefix(before: "?")) }

    /// Reads a head; `nil` if it is not complete. One that is no HTTP has no method.
    init?(_ bytes: [UInt8]) {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(
            separator: "\r\n", omittingEmptySubsequences: false)
        let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2].hasPrefix("HTTP/1."), words[1].hasPrefix("/") else {
            (method, target, host) = ("", "", nil)
            return
        }
        let hosts = lines.dropFirst().compactMap { line -> Substring? in
            let name = line.prefix(before: ":")
            return name.equalsIgnoringCase("host") ? Substring(line.utf8.dropFirst(name.utf8.count + 1)) : nil
        }
        method = String(words[0])
        target = String(words[1])
        host = hosts.count == 1 ? hosts[0].trimmed.lowercased() : nil
    }
}

/// What a receiver responds with. Nothing of the request is in it.
enum ReceiverPage {
    case done, failed, goesOn, notFound, tooLarge

    /// The whole response.
    var bytes: [UInt8] {
        let (status, text) =
            switch self {
            case .done:
                ("200 OK", "<h1>You are signed in</h1><p>You can go back to the program and close this page.</p>")
            case .failed:
                ("200 OK", "<h1>You are not signed in</h1><p>The program says why. You can close this page.</p>")
            case .goesOn:
                ("200 OK", "<h1>The sign-in goes on in the program</h1><p>You can close this page.</p>")
            case .notFound: ("404 Not Found", "<h1>Not found</h1>")
            case .tooLarge: ("431 Request Header Fields Too Large", "<h1>The request is too large</h1>")
            }
        let page = """
            <!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Sign-in</title>\(text)</html>
            """
        // The address of the page has the code: it must be in no cache and no Referer.
        let head = [
            "HTTP/1.1 \(status)", "Content-Type: text/html; charset=utf-8", "Content-Length: \(page.utf8.count)",
            "Connection: close", "Cache-Control: no-store", "Referrer-Policy: no-referrer",
            "Content-Security-Policy: default-src 'none'", "X-Content-Type-Options: nosniff",
        ]
        return Array((head.joined(separator: "\r\n") + "\r\n\r\n" + page).utf8)
    }
}

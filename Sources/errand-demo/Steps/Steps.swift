extension Step {
    /// All of them, in the order in which they are shown.
    static let all = [
        signIn, signInWithBrowser, loadFriends, tapTwice, keepTheLimit, refreshOnce, tryAgain, meetTheDeadline,
        changeServers, noticeNoNetwork, readPages, secondLoad, staleAnswer, sharedCalls, sendPicture, downloadFile,
        followEvents, oneAlert, changeSettings, outliveTheView, shareTheLimit, signOut,
    ]
}
